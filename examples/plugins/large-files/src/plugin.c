/* No large and no binary files get into the repository unasked.
 *
 *   config = { max_bytes = 1048576, allow = [".png", "assets/"] }
 *
 * An entry of `allow` is the end of a path, or, ending with `/`, its beginning. */
#include "ralph.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* As git does: a NUL within the first bytes makes a file binary. */
#define LOOKED_AT 8000

static const char *const KEYS[] = {"max_bytes", "allow", "binary", NULL};

static bool ends_with(ralph_string text, ralph_string end) {
    return text.length >= end.length && memcmp(text.text + text.length - end.length, end.text, end.length) == 0;
}

static bool is_allowed(ralph_string path, const ralph_strings *allow) {
    for (size_t i = 0; i < allow->count; i++) {
        ralph_string entry = allow->items[i];
        bool folder = entry.length > 0 && entry.text[entry.length - 1] == '/';
        if (folder ? strncmp(path.text, entry.text, entry.length) == 0 : ends_with(path, entry)) {
            return true;
        }
    }
    return false;
}

static bool is_binary(const char *place) {
    char bytes[LOOKED_AT];
    FILE *file = fopen(place, "rb");
    if (file == NULL) {
        return false;
    }
    size_t read = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memchr(bytes, 0, read) != NULL;
}

void gate_check(const ralph_iteration *it, ralph_verdict *verdict) {
    ralph_config_only(KEYS);
    uint64_t max = ralph_config_number("max_bytes", 1 << 20);
    bool binary = ralph_config_bool("binary", false);
    ralph_strings allow = ralph_config_strings("allow");
    ralph_file_changes files = ralph_files();
    size_t seen = 0;
    for (size_t i = 0; i < files.count; i++) {
        ralph_string path = files.items[i].path;
        if (files.items[i].kind == RALPH_DELETED || is_allowed(path, &allow)) {
            continue;
        }
        ralph_string place = ralph_format("%s/%s", it->workspace.text, path.text);
        struct stat about;
        /* A link isn't followed: what it leads to isn't committed. */
        if (lstat(place.text, &about) != 0 || !S_ISREG(about.st_mode)) {
            continue;
        }
        seen++;
        uint64_t size = (uint64_t)about.st_size;
        if (size > max) {
            ralph_string message = ralph_format("%llu bytes, %llu are allowed", (unsigned long long)size, (unsigned long long)max);
            ralph_add_finding(verdict, message, path.text, 0, "large-file");
        }
        if (!binary && is_binary(place.text)) {
            ralph_add_finding(verdict, ralph_format("a binary file"), path.text, 0, "binary-file");
        }
    }
    size_t bad = verdict->findings.count;
    verdict->status = bad > 0 ? RALPH_FAIL : seen > 0 ? RALPH_PASS : RALPH_SKIP;
    verdict->summary = bad > 0   ? ralph_format("%zu large or binary files", bad)
                       : seen > 0 ? ralph_format("%zu files, none large or binary", seen)
                                  : ralph_format("no file to look at");
}
