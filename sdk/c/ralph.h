/* What a gate written in C needs of ralph: the types of wit/, and the functions
 * by which a gate asks its host. Compile ralph.c along; clang for wasm32-wasi.
 *
 * Strings come with their length and a 0 behind them. What the host gives, and
 * what ralph_format makes, is freed with the instance, which lives for one call.
 *
 * What doesn't work in the sandbox, and how that shows: the clock stands still
 * and rand() draws the same numbers in every call, unless `clock` and `random`
 * are granted; fopen and stat fail outside of granted directories; there are no
 * sockets, threads and processes; abort() is a crash of that call. */
#ifndef RALPH_H
#define RALPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On wasm32 a record of the contract lies in memory as these structs do. */

typedef struct { char *text; size_t length; } ralph_string;
typedef struct { bool is; ralph_string value; } ralph_optional_string;
typedef struct { bool is; uint32_t value; } ralph_optional_number;
typedef struct { ralph_string *items; size_t count; } ralph_strings;

typedef enum { RALPH_WORK, RALPH_JUDGE, RALPH_REVIEW } ralph_role;

typedef struct {
    ralph_string id, title, description;
    ralph_strings acceptance;
    struct { bool is; int32_t value; } priority;
    ralph_strings depends_on;
} ralph_task;

typedef struct {
    ralph_string run_id;
    uint32_t number, attempt;
    ralph_string agent;
    uint8_t role; /* a ralph_role */
    /* The project's root, as far as directories are granted. */
    ralph_string workspace, scratch;
    struct { bool is; ralph_task value; } task;
} ralph_iteration;

typedef enum { RALPH_ADDED, RALPH_MODIFIED, RALPH_DELETED, RALPH_RENAMED } ralph_change_kind;

typedef struct {
    ralph_string path;
    uint8_t kind; /* a ralph_change_kind */
    /* Both 0 for a binary file. */
    uint32_t added_lines, deleted_lines;
} ralph_file_change;

typedef struct { ralph_file_change *items; size_t count; } ralph_file_changes;

typedef struct { ralph_string text; uint64_t omitted_bytes; } ralph_diff_text;

typedef enum { RALPH_PASS, RALPH_FAIL, RALPH_SKIP } ralph_status;

typedef struct {
    ralph_string message;
    ralph_optional_string path;
    ralph_optional_number line; /* counts from 1 */
    ralph_optional_string rule;
} ralph_finding;

typedef struct {
    uint8_t status; /* a ralph_status */
    ralph_string summary;
    struct { ralph_finding *items; size_t count; } findings;
} ralph_verdict;

typedef enum { RALPH_TRACE, RALPH_DEBUG, RALPH_INFO, RALPH_WARN, RALPH_ERROR } ralph_level;

/* Yours. What it says counts unless ralph_refuse was called. */
void gate_check(const ralph_iteration *it, ralph_verdict *verdict);

typedef enum { RALPH_INVALID_CONFIG, RALPH_DENIED, RALPH_FAILED } ralph_refusal;

/* The gate could not rule; the first reason counts. */
void ralph_refuse(ralph_refusal kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

ralph_string ralph_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ralph_log(ralph_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a remark; `path` and `rule` may be NULL, `line` 0. */
void ralph_add_finding(ralph_verdict *verdict, ralph_string message, const char *path, uint32_t line, const char *rule);

/* Need the capability `changes`. */
ralph_file_changes ralph_files(void);
ralph_diff_text ralph_diff(uint64_t max_bytes);

/* Reads a key of the plugin's configuration. One that is there and has another
 * type is a refusal; ralph_config_only refuses keys that aren't in the list,
 * which ends with NULL. */
uint64_t ralph_config_number(const char *key, uint64_t otherwise);
bool ralph_config_bool(const char *key, bool otherwise);
ralph_string ralph_config_string(const char *key, const char *otherwise);
ralph_strings ralph_config_strings(const char *key);
void ralph_config_only(const char *const *keys);

#endif
