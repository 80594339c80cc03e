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

// identity is what a process says of itself.
type identity struct {
	process string // no other process has it
	host    string // for people
	pid     int    // for people
	boot    string // as files.BootID; "" unknown
}

// thisProcess is who we are.
var thisProcess = sync.OnceValue(func() identity {
	host, _ := os.Hostname() // "" where nobody knows
	return identity{process: rand.Text()[:13], host: host, pid: os.Getpid(), boot: files.BootID()}
})

// newID is an id that no other claim has, ever: 65 bits of the process, 65 of its own.
func (i identity) newID() string { return i.process + rand.Text()[:13] }

// record is the text of a claim. While it is held only its numbers change, and its length never does: a heartbeat
// needs no space on the disk.
type record struct {
	id, host, locks     string // locks: as files.LocksOf
	pid                 int
	beat, round, rounds int
}

// most is the largest number of a record: ten digits.
const most = 9999999999

func (r record) text() []byte {
	number := func(n int) int { return min(max(n, 0), most) }
	return fmt.Appendf(nil, "id %s\nhost %s\npid %010d\nlocks %s\nbeat %010d\nround %010d\nrounds %010d\n",
		r.id, word(r.host), number(r.pid), word(r.locks), number(r.beat), number(r.round), number(r.rounds))
}

// parse reads the text of a claim; false for one that is not whole, or not of a claim.
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

// nothing stands for a word that nobody knows.
const nothing = "-"

// word is a name as a record has it: without what would end its line.
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

func unknown(word string) string {
	if word == nothing {
		return ""
	}
	return word
}
