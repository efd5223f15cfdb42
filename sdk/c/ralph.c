/* The canonical ABI of ralph:plugin@0.2.1, by hand, and the configuration's JSON. */
#include "ralph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT(interface, function) \
    __attribute__((import_module("ralph:plugin/" interface "@0.2.1"), import_name(function)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("log", "log") void host_log(int32_t level, const char *text, size_t length);
IMPORT("config", "get") void host_config(ralph_string *result);
IMPORT("changes", "files") void host_files(ralph_file_changes *result);
IMPORT("changes", "diff") void host_diff(uint64_t max_bytes, ralph_diff_text *result);

_Static_assert(sizeof(ralph_iteration) == 96, "as the host writes it");
_Static_assert(sizeof(ralph_file_change) == 20, "as the host writes it");
_Static_assert(sizeof(ralph_finding) == 40, "as the host reads it");
_Static_assert(sizeof(ralph_verdict) == 20, "as the host reads it");

static void *need(void *memory) {
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* One byte more than is asked for, and a 0 in it. */
EXPORT("cabi_realloc") void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size);
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
    (void)old_size;
    (void)align; /* malloc's is 16 */
    char *memory = need(realloc(old, size + 1));
    memory[size] = 0;
    return memory;
}

static struct { uint8_t refused; union { ralph_verdict verdict; struct { uint8_t kind; ralph_string why; } refusal; }; } answer;

EXPORT("ralph:plugin/gate@0.2.1#check") void *ralph_export_check(const ralph_iteration *it);
void *ralph_export_check(const ralph_iteration *it) {
    static ralph_verdict verdict;
    gate_check(it, &verdict);
    if (!answer.refused) {
        answer.verdict = verdict;
    }
    return &answer;
}

static ralph_string format(const char *text, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, text, args);
    size_t size = length < 0 ? 0 : (size_t)length;
    ralph_string made = {need(malloc(size + 1)), size};
    made.text[0] = 0;
    vsnprintf(made.text, size + 1, text, again);
    va_end(again);
    return made;
}

ralph_string ralph_format(const char *text, ...) {
    va_list args;
    va_start(args, text);
    ralph_string made = format(text, args);
    va_end(args);
    return made;
}

void ralph_log(ralph_level level, const char *text, ...) {
    va_list args;
    va_start(args, text);
    ralph_string line = format(text, args);
    va_end(args);
    host_log((int32_t)level, line.text, line.length);
    free(line.text);
}

void ralph_refuse(ralph_refusal kind, const char *text, ...) {
    va_list args;
    va_start(args, text);
    ralph_string why = format(text, args);
    va_end(args);
    if (!answer.refused) {
        answer.refused = 1;
        answer.refusal.kind = (uint8_t)kind;
        answer.refusal.why = why;
    }
}

static ralph_optional_string some(const char *text) {
    ralph_optional_string value = {text != NULL, {NULL, 0}};
    if (text != NULL) {
        value.value = ralph_format("%s", text);
    }
    return value;
}

void ralph_add_finding(ralph_verdict *verdict, ralph_string message, const char *path, uint32_t line, const char *rule) {
    size_t count = verdict->findings.count;
    /* Grown where the count is a power of two. */
    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : count * 2;
        verdict->findings.items = need(realloc(verdict->findings.items, room * sizeof(ralph_finding)));
    }
    ralph_finding finding = {message, some(path), {line > 0, line}, some(rule)};
    verdict->findings.items[count] = finding;
    verdict->findings.count = count + 1;
}

ralph_file_changes ralph_files(void) {
    ralph_file_changes files;
    host_files(&files);
    return files;
}

ralph_diff_text ralph_diff(uint64_t max_bytes) {
    ralph_diff_text diff;
    host_diff(max_bytes, &diff);
    return diff;
}

/* The configuration: one object, valid JSON as the host writes it. */

static const char *blank(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* Behind the string that begins here. */
static const char *behind_string(const char *at) {
    for (at++; *at != '"' && *at != 0; at++) {
        if (*at == '\\' && at[1] != 0) {
            at++;
        }
    }
    return *at == '"' ? at + 1 : at;
}

/* Behind the value that begins here. */
static const char *behind(const char *at) {
    size_t depth = 0;
    do {
        if (*at == '"') {
            at = behind_string(at);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (depth == 0) {
            return at + strcspn(at, ",}] \t\r\n");
        } else {
            at++;
        }
    } while (depth > 0 && *at != 0);
    return at;
}

static unsigned hex4(const char *at) {
    char digits[5] = {0};
    strncpy(digits, at, 4);
    return (unsigned)strtoul(digits, NULL, 16);
}

/* The string that begins here, without its escapes. */
static ralph_string unescaped(const char *at) {
    const char *end = behind_string(at);
    ralph_string made = {need(malloc((size_t)(end - at) + 1)), 0};
    char *out = made.text;
    for (at++; at < end - 1; at++) {
        if (*at != '\\') {
            *out++ = *at;
            continue;
        }
        at++;
        const char *plain = "\"\\/bfnrt", *means = "\"\\/\b\f\n\r\t", *found = strchr(plain, *at);
        if (*at != 'u') {
            *out++ = found != NULL ? means[found - plain] : *at;
            continue;
        }
        unsigned code = hex4(at + 1);
        at += 4;
        if (code >= 0xd800 && code < 0xdc00 && at[1] == '\\' && at[2] == 'u') {
            code = 0x10000 + ((code - 0xd800) << 10) + (hex4(at + 3) - 0xdc00);
            at += 6;
        }
        if (code < 0x80) {
            *out++ = (char)code;
        } else {
            int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
            *out++ = (char)((0xff00 >> (more + 1)) | (code >> (6 * more)));
            while (more-- > 0) {
                *out++ = (char)(0x80 | ((code >> (6 * more)) & 0x3f));
            }
        }
    }
    *out = 0;
    made.length = (size_t)(out - made.text);
    return made;
}

/* Calls for each key with the place of its value, until one says that it is enough. */
static void each_key(bool (*call)(ralph_string key, const char *value, void *with), void *with) {
    static ralph_string config;
    if (config.text == NULL) {
        host_config(&config);
    }
    const char *at = blank(config.text);
    if (*at != '{') {
        return;
    }
    at = blank(at + 1);
    while (*at == '"') {
        ralph_string key = unescaped(at);
        at = blank(behind_string(at));
        at = blank(*at == ':' ? at + 1 : at);
        if (call(key, at, with)) {
            return;
        }
        at = blank(behind(at));
        at = blank(*at == ',' ? at + 1 : at);
    }
}

struct search { const char *key, *value; };

static bool is_it(ralph_string key, const char *value, void *with) {
    struct search *search = with;
    if (strcmp(key.text, search->key) == 0) {
        search->value = value;
    }
    return search->value != NULL;
}

/* NULL if there is none; another type than the value's first byte should have is a refusal. */
static const char *find(const char *key, const char *first, const char *type) {
    struct search search = {key, NULL};
    each_key(is_it, &search);
    if (search.value != NULL && (*search.value == 0 || strchr(first, *search.value) == NULL)) {
        ralph_refuse(RALPH_INVALID_CONFIG, "`%s` should be %s", key, type);
        return NULL;
    }
    return search.value;
}

uint64_t ralph_config_number(const char *key, uint64_t otherwise) {
    const char *value = find(key, "0123456789", "a whole number");
    if (value == NULL) {
        return otherwise;
    }
    char *end;
    uint64_t number = strtoull(value, &end, 10);
    if (*end != 0 && strchr(".eE", *end) != NULL) {
        ralph_refuse(RALPH_INVALID_CONFIG, "`%s` should be a whole number", key);
    }
    return number;
}

bool ralph_config_bool(const char *key, bool otherwise) {
    const char *value = find(key, "tf", "true or false");
    return value == NULL ? otherwise : *value == 't';
}

ralph_string ralph_config_string(const char *key, const char *otherwise) {
    const char *value = find(key, "\"", "a string");
    return value == NULL ? ralph_format("%s", otherwise) : unescaped(value);
}

ralph_strings ralph_config_strings(const char *key) {
    ralph_strings list = {NULL, 0};
    const char *at = find(key, "[", "a list of strings");
    if (at == NULL) {
        return list;
    }
    at = blank(at + 1);
    while (*at != ']' && *at != 0) {
        if (*at != '"') {
            ralph_refuse(RALPH_INVALID_CONFIG, "`%s` should be a list of strings", key);
            break;
        }
        list.items = need(realloc(list.items, (list.count + 1) * sizeof(ralph_string)));
        list.items[list.count++] = unescaped(at);
        at = blank(behind_string(at));
        at = blank(*at == ',' ? at + 1 : at);
    }
    return list;
}

static bool is_known(ralph_string key, const char *value, void *with) {
    (void)value;
    for (const char *const *known = with; *known != NULL; known++) {
        if (strcmp(*known, key.text) == 0) {
            return false;
        }
    }
    ralph_refuse(RALPH_INVALID_CONFIG, "`%s` is no key of this gate", key.text);
    return true;
}

void ralph_config_only(const char *const *keys) {
    each_key(is_known, (void *)keys);
}
