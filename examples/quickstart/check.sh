#!/bin/sh
# Checks every command that `todo.sh help` lists. Exit code 0: all is well.
set -u
cd "$(dirname "$0")" || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export TODO_FILE="$dir/todo.txt"
failed=0

# expect WHAT WANTED GOT
expect() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAILED: $1: wanted '$2', got '$3'"
        failed=1
    fi
}

todo() { sh todo.sh "$@" 2>/dev/null; }

code() {
    todo "$@" >/dev/null
    echo $?
}

has() { todo help | grep -q "^todo.sh $1 "; }

fill() {
    rm -f "$TODO_FILE"
    todo add "buy milk"
    todo add "call Ann & Bob"
    todo add "sleep"
}

expect "help is there" 0 "$(code help)"
expect "an unknown command is refused" 2 "$(code fly)"

if has add; then
    expect "list of nothing" "" "$(todo list)"
    expect "list of nothing is no error" 0 "$(code list)"
    fill
    expect "list in order" "1 buy milk
2 call Ann & Bob
3 sleep" "$(todo list)"
fi

if has done; then
    fill
    todo done 2
    expect "done removes one" "1 buy milk
2 sleep" "$(todo list)"
    expect "done with a number that no entry has" 1 "$(code done 9)"
    expect "done without a number" 1 "$(code done x)"
    expect "a refused done leaves the list alone" "1 buy milk
2 sleep" "$(todo list)"
fi

if has count; then
    fill
    expect "count of three" 3 "$(todo count)"
    rm -f "$TODO_FILE"
    expect "count of nothing" 0 "$(todo count)"
fi

exit "$failed"
