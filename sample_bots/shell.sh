#!/bin/sh
# A bot in plain sh: coup as soon as it is legal, tax with a duke, else the first legal move, which is a safe move.
# It doesn't parse JSON: it searches for texts that occur only once in a line.

set -f # don't expand words of a line to file names

# Print the index in $legal of the first move that starts with $1 (the number of braces before it), or fail.
place() {
    before=${legal%%"$1"*}
    [ "$before" != "$legal" ] || return 1
    count=0
    while [ "$before" != "${before#*\{}" ]; do
        before=${before#*\{}
        count=$((count + 1))
    done
    echo "$count"
}

while IFS= read -r line; do
    IFS=' ' # remove blanks: split the line into words, and join them without separators
    set -- $line
    IFS=
    line=$*
    case $line in
    *'"type":"hello"'*)
        echo '{"type":"hello","name":"shell"}'
        ;;
    *'"type":"request"'*)
        id=${line#*'"id":'}
        id=${id%%[!0-9]*}
        legal=${line#*'"legal":['}
        legal=${legal%%']'*}
        cards=${line#*'"you":{'}
        cards=${cards#*'"cards":['}
        cards=${cards%%']'*}
        choice=$(place '{"action":"coup"') || case $cards in
        *duke*) choice=$(place '{"action":"tax"}') || choice=0 ;;
        *) choice=0 ;;
        esac
        echo "{\"id\":$id,\"choice\":$choice}"
        ;;
    *'"type":"match_over"'*)
        exit 0
        ;;
    esac
done
