#!/bin/sh
# What one iteration of ralph does in git and processes, and nothing else:
#   loop.sh COUNT
set -eu
count=$1
mkdir -p .git/loop
index=$PWD/.git/loop/index
status() {
  GIT_OPTIONAL_LOCKS=0 git status --porcelain=v2 -z --branch --untracked-files=all --no-renames --no-ahead-behind --ignore-submodules=dirty
}
while [ "$count" -gt 0 ]; do
  task=$(sed -n 's/^- \[ \] //p;T;q' PRD.md)
  # Before the agent: the tree is clean, so HEAD is the snapshot.
  status >.git/loop/before
  git_head=$(cat .git/refs/heads/main)
  printf 'Your task: %s\n' "$task" >.git/loop/prompt
  /bin/sh -c "$AGENT" <.git/loop/prompt >.git/loop/log
  grep -q 'EXIT_SIGNAL: true' .git/loop/log
  # After it: a tree of what is there now, by way of another index.
  status >.git/loop/after
  cp .git/index "$index"
  printf 'work.txt\0' | GIT_INDEX_FILE=$index git update-index --add --remove --replace -z --stdin
  tree=$(GIT_INDEX_FILE=$index git write-tree)
  git diff-tree -r -z --raw --numstat --no-abbrev -M "$git_head" "$tree" >.git/loop/changes
  # The gate, as a program.
  /bin/true
  sed -i '0,/^- \[ \]/s//- [x]/' PRD.md
  printf 'ralph: %s\n' "$task" | GIT_INDEX_FILE=$index git commit --quiet --cleanup=whitespace -F - --include -- PRD.md
  mv "$index" .git/index
  printf '%s done\n' "$task" >>.git/loop/progress
  count=$((count - 1))
done
