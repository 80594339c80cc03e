package progress

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/results"
)

// screen is a terminal: what stands on it, line by line, and whether a line ever went on in the next.
type screen struct {
	columns int
	lines   [][]rune
	column  int
	wrapped bool
	drawn   []string // what stood in the last line after each write
}

func (s *screen) Write(p []byte) (int, error) {
	if s.lines == nil {
		s.lines = [][]rune{nil}
	}
	text := string(p)
	for len(text) > 0 {
		if rest, ok := strings.CutPrefix(text, "\x1b[2K"); ok {
			s.lines[len(s.lines)-1], text = nil, rest
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch last := &s.lines[len(s.lines)-1]; r {
		case '\r':
			s.column = 0
		case '\n':
			s.lines, s.column = append(s.lines, nil), 0
		default:
			if s.column == s.columns {
				s.wrapped = true
			}
			*last = append((*last)[:s.column:s.column], append([]rune{r}, (*last)[min(s.column+1, len(*last)):]...)...)
			s.column++
		}
	}
	s.drawn = append(s.drawn, string(s.lines[len(s.lines)-1]))
	return len(p), nil
}

func (s *screen) String() string {
	var b strings.Builder
	for i, line := range s.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(line))
	}
	return b.String()
}

// clock is a time that passes when it is told to.
type clock struct{ at time.Time }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

// on returns a terminal of so many columns and a command that draws on it.
func on(columns int) (*screen, *Command, *clock) {
	s, now := &screen{columns: columns}, &clock{time.Unix(1e9, 0)}
	c := New(s)
	c.width, c.now = func() int { return s.columns }, func() time.Time { return now.at }
	return s, c, now
}

// everyTen is the work of a run of 100 rounds of 1 s that is evaluated every ten, in 2 s, if a FLOP takes 1 s.
var everyTen = Work{
	Kind: "a", Rounds: 100, Round: 1, Evaluation: func(round int) float64 {
		if round%10 == 0 {
			return 2
		}
		return 0
	},
}

// pass makes so many rounds of a run, with their evaluations.
func pass(now *clock, r Run, from, to int) {
	for t := from; t < to; t++ {
		if t == 0 {
			evaluate(now, r, 0)
		}
		now.pass(time.Second)
		r.Round(t+1, 4)
		if everyTen.Evaluation(t+1) > 0 {
			evaluate(now, r, t+1)
		}
	}
}

func evaluate(now *clock, r Run, round int) {
	now.pass(2 * time.Second)
	r.Evaluated(results.CurveRow{Round: round, TestAcc: files.Some(0.451)})
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		columns   int
		one, many string
	}{
		{20, "round 12/100 · 13 %", "run 2/3"},
		{44, "round 12/100 · 13 % · 1 min 46 s left", "run 2/3 · round 12/100 · 37 %"},
		{
			80, "round 12/100 · 13 % · 1 min 46 s left · test acc 45.10 % |██                  |",
			"run 2/3 · round 12/100 · 37 % · 3 min 48 s left |██████████                  |",
		},
	} {
		s, command, now := on(c.columns)
		r := command.Run("x", everyTen)
		r.Start(100)
		pass(now, r, 0, 12)
		if got := strings.TrimRight(s.String(), "\n"); !sameBut(got, c.one) || s.wrapped {
			t.Errorf("%d columns, one run: got %q, wrapped %t, want %q", c.columns, got, s.wrapped, c.one)
		}
		r.Stop()
		if got := s.String(); got != "" {
			t.Errorf("%d columns, one run that has ended: got %q, want nothing", c.columns, got)
		}

		s, command, now = on(c.columns)
		kept := command.Run("a", everyTen)
		r = command.Run("b", everyTen)
		command.Run("c", everyTen)
		kept.Stop()
		r.Start(100)
		pass(now, r, 0, 12)
		if got := s.String(); !sameBut(got, c.many) || s.wrapped {
			t.Errorf("%d columns, second of three runs: got %q, wrapped %t, want %q", c.columns, got, s.wrapped, c.many)
		}
	}
}

// sameBut compares lines but for how far the bar is filled.
func sameBut(got, want string) bool {
	g, gotBar, _ := strings.Cut(got, "|")
	w, wantBar, _ := strings.Cut(want, "|")
	return g == w && utf8.RuneCountInString(gotBar) >= utf8.RuneCountInString(wantBar) &&
		(wantBar == "") == (gotBar == "")
}

// Whatever the width, and when it changes on the way, no line is wider than the terminal, and all are cleared.
func TestEveryWidth(t *testing.T) {
	for columns := 1; columns <= 200; columns += 1 + columns/40 {
		s, command, now := on(columns)
		var runs []Run
		for i := range 3 {
			runs = append(runs, command.Run(fmt.Sprint(i), everyTen))
		}
		for i, r := range runs {
			r.Start(100)
			pass(now, r, 0, 40)
			s.columns = max(1, columns-7*i)
			pass(now, r, 40, 100)
			r.Stop()
			s.columns = columns
		}
		for _, line := range s.drawn {
			if n := utf8.RuneCountInString(line); n >= columns {
				t.Fatalf("%d columns: drew %q, %d columns, want fewer", columns, line, n)
			}
		}
		if got := s.String(); got != "" || s.wrapped {
			t.Fatalf("%d columns: got %q in the end, wrapped %t, want nothing", columns, got, s.wrapped)
		}
		if columns >= 20 &&
			!slices.ContainsFunc(s.drawn, func(l string) bool { return strings.HasPrefix(l, "run 2/3") }) {
			t.Fatalf("%d columns: run 2/3 was never drawn: %q", columns, s.drawn)
		}
	}
}

// A bar fills what is left over, if that is ten columns or more.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		columns  int
		doneFrac float64
		want     string
	}{
		{16, 0.5, "half |████     |"},
		{14, 0.5, "half"},
		{15, 0.5, "half |████    |"},
		{15, 0, "half |        |"},
		{15, 1, "half |████████|"},
		{25, 0.25, "half |████              |"},
		{3, 0.5, ""},
	} {
		if got := fit([]string{"half"}, c.doneFrac, c.columns); got != c.want {
			t.Errorf("%d columns, %g done: got %q, want %q", c.columns, c.doneFrac, got, c.want)
		}
	}
}

// What is logged while the line stands is on lines of its own, whole, and the line comes back below.
func TestLogBesideLine(t *testing.T) {
	s, command, now := on(44)
	r := command.Run("x", everyTen)
	_, _ = fmt.Fprint(command, "before\n")
	r.Start(100)
	pass(now, r, 0, 5)
	_, _ = fmt.Fprint(command, "device: a card\n")
	want := "before\ndevice: a card\nround 5/100 · 5 % · 1 min 55 s left"
	if got := s.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, _ = fmt.Fprint(command, "half a")
	pass(now, r, 5, 6)
	if got, want := s.String(), "before\ndevice: a card\nhalf a"; got != want {
		t.Errorf("within a line of the log: got %q, want %q", got, want)
	}
	_, _ = fmt.Fprint(command, " line\n")
	pass(now, r, 6, 7)
	want = "before\ndevice: a card\nhalf a line\nround 7/100 · 7 % · 1 min 53 s left"
	if got := s.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Stop()
	if got, want := s.String(), "before\ndevice: a card\nhalf a line\n"; got != want {
		t.Errorf("in the end: got %q, want %q", got, want)
	}
}

// The line is not drawn oftener than the eye sees.
func TestRedraws(t *testing.T) {
	s, command, now := on(80)
	r := command.Run("x", everyTen)
	r.Start(1000)
	before := len(s.drawn)
	for t := range 1000 {
		now.pass(time.Millisecond)
		r.Round(t+1, 1)
	}
	if got := len(s.drawn) - before; got > 2*11 { // each clears and draws
		t.Errorf("%d writes in a second of 1000 rounds, want at most 22", got)
	}
}

// Sessions side by side share one line.
func TestSideBySide(t *testing.T) {
	s := &screen{columns: 60}
	command := New(s)
	command.width = func() int { return 60 }
	var runs sync.WaitGroup
	for i := range 4 {
		r := command.Run(fmt.Sprint(i), everyTen)
		runs.Go(func() {
			r.Start(100)
			for t := range 100 {
				r.Round(t+1, 1)
				_, _ = fmt.Fprintf(command, "%d\n", t)
			}
			r.Stop()
		})
	}
	runs.Wait()
	if n := strings.Count(s.String(), "\n"); n != 400 || s.wrapped || strings.Contains(s.String(), "run") {
		t.Errorf("%d lines, wrapped %t: %q, want 400 of the log alone", n, s.wrapped, s)
	}
}

// Lines that are drawn beside, such as a download's, go to the terminal while no run draws there.
func TestUnder(t *testing.T) {
	s, command, _ := on(80)
	r := command.Run("x", everyTen)
	if got := Under(command); got != s {
		t.Errorf("before a run: got %T, want the terminal", got)
	}
	r.Start(100)
	if got := Under(command); got != command {
		t.Errorf("during a run: got %T, want the log", got)
	}
	if got := Under(s); got != s {
		t.Errorf("another writer: got %T, want itself", got)
	}
}

// logged returns a log that is no terminal, and a command that writes to it.
func logged() (*strings.Builder, *Command, *clock) {
	log, now := &strings.Builder{}, &clock{time.Unix(1e9, 0)}
	command := New(log)
	command.now = func() time.Time { return now.at }
	return log, command, now
}

// A log that is no terminal gets at most one line in ten seconds, whatever happens, and in the end how far it came.
func TestLog(t *testing.T) {
	log, command, now := logged()
	first, second := command.Run("[1/2] a seed 3", everyTen), command.Run("[1/2] a seed 4", everyTen)
	first.Start(100)
	pass(now, first, 0, 30)
	first.Stop()
	second.Start(100)
	pass(now, second, 0, 1)
	command.Close()
	command.Close()
	want := "run 1/2 · [1/2] a seed 3: round 8/100 · test acc 45.10 % · 4 % · 3 min 54 s left\n" +
		"run 1/2 · [1/2] a seed 3: round 16/100 · test acc 45.10 % · 8 % · 3 min 44 s left\n" +
		"run 1/2 · [1/2] a seed 3: round 24/100 · test acc 45.10 % · 12 % · 3 min 34 s left\n" +
		"run 2/2 · [1/2] a seed 4: round 0/100 · test acc 45.10 % · 50 % · 2 min left\n" +
		"run 2/2 · after 41 s\n"
	if got := log.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Of many short runs the log gets no line each. A single run is named in the last line, and a command that has trained
// nothing has none.
func TestLogOfShortRuns(t *testing.T) {
	log, command, now := logged()
	for i := range 200 {
		r := command.Run(fmt.Sprint("run ", i), everyTen)
		r.Start(1)
		now.pass(100 * time.Millisecond)
		r.Round(1, 1)
		evaluate(&clock{}, r, 1)
		r.Stop()
	}
	command.Close()
	if n := strings.Count(log.String(), "\n"); n < 2 || n > 3 {
		t.Errorf("%d lines in 20 s, want 2, and perhaps one in the end:\n%s", n, log)
	}

	log, command, now = logged()
	r := command.Run("fedawe", everyTen)
	r.Start(100)
	pass(now, r, 0, 2)
	r.Stop()
	command.Close()
	if got, want := log.String(), "fedawe: round 2/100 · test acc 45.10 % · after 4 s\n"; got != want {
		t.Errorf("one run: got %q, want %q", got, want)
	}

	log, command, _ = logged()
	command.Run("kept", everyTen).Stop()
	command.Close()
	if log.Len() > 0 {
		t.Errorf("nothing was trained: got %q, want nothing", log)
	}
}

// Runs that are expected count from the start, for the rounds that they add, until others take their places.
func TestExpect(t *testing.T) {
	_, command, now := on(80)
	rest := Work{Kind: "a", Rounds: 20, From: 10, Round: 1}
	command.Expect([]Work{rest})
	first := Work{Kind: "a", Rounds: 10, Round: 1}
	a, b := command.Run("a", first), command.Run("b", first)
	line := func() string { return strings.Join(slices.Concat(command.place(), command.outlook()), between) }
	make := func(r Run, from, to int) {
		r.Start(to)
		if from > 0 {
			r.Resumed(from)
		}
		for t := from; t < to; t++ {
			now.pass(time.Second)
			r.Round(t+1, 1)
		}
	}
	for _, c := range []struct {
		does func()
		want string
	}{
		{func() { make(a, 0, 5) }, "run 1/3 · round 5/5 · 16 % · 25 s left"},
		{func() { make(a, 0, 10); a.Stop(); make(b, 0, 10); b.Stop() }, "run 2/3 · round 10/10 · 66 % · 10 s left"},
		{func() { command.Expect(nil); a = command.Run("a on", rest) }, "run 2/3 · round 10/10 · 66 % · 10 s left"},
		{func() { make(a, 10, 15) }, "run 3/3 · round 15/15 · 83 % · 5 s left"},
		{func() { make(a, 10, 20); a.Stop() }, "run 3/3 · round 20/20 · 100 % · 0 s left"},
	} {
		if c.does(); line() != c.want {
			t.Errorf("got %q, want %q", line(), c.want)
		}
	}
}
