package claim

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"rollcall/results/files"
)

// identity is what a process writes about itself into its claims.
type identity struct {
	process string // random: no other process has the same
	host    string // for messages
	pid     int    // for messages
	boot    string // files.BootID; "": not known
}

// thisProcess returns the identity of this process, always the same one.
var thisProcess = sync.OnceValue(func() identity {
	host, _ := os.Hostname() // "" if it is not known
	return identity{process: rand.Text()[:13], host: host, pid: os.Getpid(), boot: files.BootID()}
})

// newID returns an id that no other claim ever has: 65 random bits of the process and 65 of the claim.
func (i identity) newID() string { return i.process + rand.Text()[:13] }

// record is the content of a claim. Heartbeats change only its numbers, and its text always has the same length, so
// that a heartbeat needs no space on the disk.
type record struct {
	id, host, locks     string // locks: files.LocksOf
	pid                 int
	beat, round, rounds int
}

// most is the largest number in a record: ten digits.
const most = 9999999999

// text returns the text of the record.
func (r record) text() []byte {
	number := func(n int) int { return min(max(n, 0), most) }
	return fmt.Appendf(nil, "id %s\nhost %s\npid %010d\nlocks %s\nbeat %010d\nround %010d\nrounds %010d\n",
		r.id, word(r.host), number(r.pid), word(r.locks), number(r.beat), number(r.round), number(r.rounds))
}

// parse reads the text of a claim. ok is false for a text that is not whole or is no claim.
func parse(text string) (r record, ok bool) {
	values := map[string]string{}
	lines, whole := strings.CutSuffix(text, "\n")
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, _ := strings.Cut(line, " ")
		values[key] = value
	}
	for key, number := range map[string]*int{"pid": &r.pid, "beat": &r.beat, "round": &r.round, "rounds": &r.rounds} {
		n, err := strconv.ParseUint(values[key], 10, 63)
		if err != nil {
			return record{}, false
		}
		*number = int(n)
	}
	r.id, r.host, r.locks = values["id"], unknown(values["host"]), unknown(values["locks"])
	if r.id == "" || !whole {
		return record{}, false
	}
	return r, true
}

// nothing stands in a record for a name that is not known.
const nothing = "-"

// word returns a name as a record has it: without characters that would end its line.
func word(name string) string {
	if name == "" {
		return nothing
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

// unknown is the inverse of word for names that are not known.
func unknown(word string) string {
	if word == nothing {
		return ""
	}
	return word
}
