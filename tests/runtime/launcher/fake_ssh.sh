#!/bin/sh
# Stands for ssh in tests: fake_ssh.sh MODE DIRECTORY HOST COMMAND. Writes what it was given to files of the directory.
mode=$1
host=$3
place=$2/$3
echo $$ > "$place.pid"
printf '%s\n' "$#" "$3" "$4" > "$place.arguments"
env > "$place.environment"

# the ticket, what the agent says then, if it does, and then the input stays open
await_end() {
  read -r ticket || exit 1
  if [ -n "$1" ]; then
    echo "$1"
    echo "agent warns" >&2
  fi
  printf '%s\n' "$ticket" > "$place.ticket"
  : > "$place.up"
  while read -r line; do :; done
  : > "$place.left"
}

case $mode in
  good)
    await_end "agent says"
    ;;
  refuse)
    echo "Warning: Permanently added '$host' to the list of known hosts." >&2
    echo "ssh: connect to host $host port 22: Connection refused" >&2
    exit 255
    ;;
  tell)
    echo 'troupe-error {"code":707,"where":"joining at w0:4000","cause":"its certificate is of another time","fix":"Set the clocks"}' >&2
    exit 1
    ;;
  tell-text)
    echo "error E0707: joining at w0:4000: its certificate is of another time" >&2
    echo "  fix: Set the clocks" >&2
    echo "  more: troupe explain E0707" >&2
    exit 1
    ;;
  late-name)
    echo x >> "$place.attempts"
    if [ "$(wc -l < "$place.attempts")" -lt 3 ]; then
      echo "ssh: Could not resolve hostname $host: Temporary failure in name resolution" >&2
      exit 255
    fi
    await_end
    ;;
  complain)
    await_end
    echo "lost the driver" >&2
    exit 1
    ;;
  stay)
    trap '' TERM
    await_end
    while :; do sleep 1000; done
    ;;
  silent)
    exit 0
    ;;
  control)
    printf 'as OpenSSH ends lines\r\n'
    printf 'colour \033[31m and bell \007\n'
    head -c 100000 /dev/zero | tr '\0' x
    echo
    await_end
    ;;
esac
