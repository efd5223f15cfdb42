/* Refuses work that changes too many files. */
#include "ralph.h"

static const char *const KEYS[] = {"max_files", NULL};

void gate_check(const ralph_iteration *it, ralph_verdict *verdict) {
    (void)it;
    ralph_config_only(KEYS);
    uint64_t max = ralph_config_number("max_files", 20);
    ralph_file_changes files = ralph_files();
    verdict->status = files.count <= max ? RALPH_PASS : RALPH_FAIL;
    verdict->summary =
        ralph_format("%zu of at most %llu files changed", files.count, (unsigned long long)max);
    for (size_t i = (size_t)max; i < files.count; i++) {
        ralph_add_finding(verdict, ralph_format("one file too many"), files.items[i].path.text, 0, "max-files");
    }
}
