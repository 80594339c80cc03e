package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/internal/memory"
	"rollcall/nets/cpu"
)

// need is the memory of the host that a run holds.
type need struct {
	of           string // the method
	clients      int
	rows, params int   // rows of parameters that the method holds in the engine, and P; 0 on a card
	inFile       bool  // the rows are in a file
	engine, data int64 // bytes of the engine with the initial weights, bytes of the samples
	least        bool  // rows counts only the rows that the method starts with: the data are not open yet
}

// run returns the bytes that no other run shares; a parameter is a float32 of 4 bytes.
func (n *need) run() int64 {
	if n.inFile {
		return n.engine
	}
	return n.ofRows() + n.engine
}

func (n *need) ofRows() int64 { return 4 * int64(n.rows) * int64(n.params) }

func (n *need) total() int64 { return n.run() + n.data }

// String returns a text like "1001 rows of 11183562 parameters 44.8 GB, activations 0.6 GB, data 0.2 GB".
func (n *need) String() string {
	place := ""
	if n.inFile {
		place = " in a file"
	}
	return fmt.Sprintf("%s of %d parameters %s%s, activations %s, data %s", files.Count(n.rows, "row"), n.params,
		memory.Size(n.ofRows()), place, memory.Size(n.engine), memory.Size(n.data))
}

// memoryError is the error of a run that needs more memory than there is.
type memoryError struct {
	need   *need
	limit  memory.Limit
	others int64 // bytes of other runs at work, if it would fit without them; 0: it would not fit alone
}

func (e *memoryError) Error() string {
	least, others, pack, file := "", "", "", ""
	if e.need.least {
		least = "at least "
	}
	if e.others > 0 {
		others, pack = fmt.Sprintf(" in addition to the %s of other runs", memory.Size(e.others)), "--pack, "
	}
	if cpu.MapsRows && !e.need.inFile {
		file = ", --rows file"
	}
	return fmt.Sprintf("memory: %s with %d clients holds %s%s: %s%s, want at most %s (%s): with fewer %s--clients or "+
		"--threads, a smaller net or --batch%s, or --memory-limit SIZE|off", e.need.of, e.need.clients, least, e.need,
		memory.Size(e.need.total()), others, memory.Size(e.limit.Bytes), e.limit.From, pack, file)
}

// FitsAlone reports whether err refuses a run that would fit if no other run were at work.
func FitsAlone(err error) bool {
	e, ok := errors.AsType[*memoryError](err)
	return ok && e.others > 0
}

// Fits refuses a run that holds more memory than there is, as far as that is known before its data are opened: the rows
// that its method starts with, one slot of the engine, and the samples of an official data set. A run that cannot fit
// should fail before it downloads anything.
func (ses *Session) Fits(s *settings.Settings) error {
	if algos.Of(s.Method).Program != "" { // starting it takes a process: once is enough, when the data are open
		return nil
	}
	c := &rowCounter{load: cpu.Load{Clients: 1, Jobs: 1, Samples: 1}}
	// Without the data nobody knows which samples a client holds, so each has one.
	f, err := dryFederation(s, 0, Population{
		Pi: make([]float64, s.Clients), Lambda: make([]float64, s.Clients),
		train: slices.Repeat([][]int32{{0}}, s.Clients),
	}, c)
	if err != nil {
		return err
	}
	f.Method.Close()
	if err := ses.checkSizes(s); err != nil {
		return err
	}
	n, err := ses.need(s, c, datasets.LeastBytes(s.Data, ses.dataOptions(s, 0)))
	if err != nil {
		return err
	}
	if limit, known := ses.Machine.Memory.Limit(); known && n.total() > limit.Bytes {
		n.least = true
		return &memoryError{need: n, limit: limit}
	}
	return nil
}

// checkSizes refuses a run that draws more samples than its data set has, as far as that is known before it is open.
func (ses *Session) checkSizes(s *settings.Settings) error {
	known := datasets.LeastSizes(s.Data, ses.dataOptions(s, 0))
	for part, drawn := range s.Sizes() {
		if of := known[part]; of > 0 && drawn > of {
			name := [2]string{"train-size", "test-size"}[part]
			return settings.Usagef("--%s %d: %s has %d, want 1 … %[4]d, or 0 for all", name, drawn, s.Data, of)
		}
	}
	return nil
}

// reserve counts the memory that a run will hold, now that its data are open, and refuses the run if that is more than
// there is. dry asks a counter for all rows that the run will ask an engine for. reserve ignores other errors of dry,
// because the run meets and reports them itself.
func (ses *Session) reserve(ctx context.Context, s *settings.Settings, dry func(*rowCounter) error) error {
	c := &rowCounter{samples: [2]int{ses.Data.Train.Len(), ses.Data.Test.Len()}, timeout: ses.Machine.Methods.Timeout}
	if err := dry(c); err != nil {
		return ctx.Err()
	}
	n, err := ses.need(s, c, ses.Data.Bytes())
	if err != nil {
		return err
	}
	limit, known := ses.Machine.Memory.Limit()
	if err := ses.shared.addUse(ses, n, limit, known); err != nil {
		return err
	}
	mapped := int64(0) // outside of Go's heap
	if cpu.MapsRows {
		mapped = n.run() - n.engine
	}
	collect(n.run()-mapped, limit.Bytes-mapped, known)
	// A run that is small for the machine needs no line, and a run on a card holds its rows there.
	if total := n.total(); n.rows > 0 && (total >= 100e6 || known && total >= limit.Bytes/100) {
		line, available := fmt.Sprintf("memory: %s: %s", n.of, n), ""
		if known {
			available = fmt.Sprintf("; %s available", memory.Size(limit.Bytes))
		}
		ses.noticeOfEngine(line, line+available)
	}
	return nil
}

// leastGarbage is how many bytes of garbage are always allowed: collecting less is not worth the time.
const leastGarbage = 50e6

// collect makes Go's garbage collector run before garbage exceeds a tenth of what a run has in Go's heap, and before
// the heap reaches the limit. Go's default allows as much garbage as there is live memory, which would double the need
// of a large run. Collecting costs little here, because the large arrays hold no pointers. If the user sets GOGC or
// GOMEMLIMIT, that decides.
func collect(run, limit int64, known bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(int(min(100, max(10, 100*leastGarbage/(run+1))))) // run may be 0
	}
	if known && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// need returns the memory of a run that asks an engine for what the counter has counted. data is the bytes of its
// samples, which are all that a run on a card holds on the host.
func (ses *Session) need(s *settings.Settings, c *rowCounter, data int64) (*need, error) {
	n := &need{of: s.Method, clients: s.Clients, data: data}
	choice, err := ses.Machine.Choose()
	if err != nil || choice.CUDA {
		return n, err
	}
	model, err := s.Model()
	if err != nil {
		return nil, err
	}
	n.rows, n.params, n.inFile = c.rows, model.P, ses.Machine.RowsInFile()
	n.engine, err = cpu.Bytes(model, cpu.Options{
		Threads: ses.threads(), Batch: s.Batch, Precision: ses.Machine.cpuPrecision(),
	}, c.load)
	n.engine += 4 * int64(model.P) // the initial weights
	return n, err
}

// addUse notes the memory of a session's new run in place of the last one, or returns a *memoryError if it does not fit
// beside the runs of other sessions. A data set that several runs use counts once.
func (d *sharedData) addUse(ses *Session, n *need, limit memory.Limit, known bool) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.uses, ses)
	// The set of this run is in n.total() already.
	others, sets := int64(0), []*openSet{ses.set}
	for _, h := range d.uses {
		others += h.run
		if !slices.Contains(sets, h.set) {
			sets, others = append(sets, h.set), others+h.data
		}
	}
	if total := n.total(); known && total+others > limit.Bytes {
		if total > limit.Bytes { // it would not fit alone either, so that waiting for the others is of no use
			others = 0
		}
		return &memoryError{need: n, limit: limit, others: others}
	}
	if d.uses == nil {
		d.uses = map[*Session]memoryUse{}
	}
	d.uses[ses] = memoryUse{n.run(), ses.set, n.data}
	return nil
}

// memoryUse is the memory that a session's run holds.
type memoryUse struct {
	run  int64 // bytes
	set  *openSet
	data int64 // bytes of the set
}

// dropUse forgets the memory of a session's last run.
func (d *sharedData) dropUse(ses *Session) {
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.uses, ses)
}
