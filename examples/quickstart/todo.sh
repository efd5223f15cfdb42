#!/bin/sh
# A to-do list in a text file, one line per entry.
file=${TODO_FILE:-todo.txt}

case ${1:-help} in
help)
    echo "todo.sh help         what there is"
    ;;
*)
    echo "todo.sh: there is no command '$1'" >&2
    exit 2
    ;;
esac
