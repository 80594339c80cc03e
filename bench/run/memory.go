package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"rollcall/bench/run/memory"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
)

// need is what a run holds in the memory of the host.
type need struct {
	of           string // whose rows they are
	clients      int
	rows, params int
	engine, data int64 // bytes: of the engine and the initial weights, and of the samples
	least        bool  // the rows are those of the start alone, before the data are there
}

// run is what no other run shares.
func (n *need) run() int64 { return 4*int64(n.rows)*int64(n.params) + n.engine }

func (n *need) total() int64 { return n.run() + n.data }

// String reads "1001 rows of 11183562 parameters 44.8 GB, activations 0.6 GB, data 0.2 GB".
func (n *need) String() string {
	return fmt.Sprintf("%s of %d parameters %s, activations %s, data %s", Count(n.rows, "row"), n.params,
		memory.Size(n.run()-n.engine), memory.Size(n.engine), memory.Size(n.data))
}

// memoryError refuses a run that needs more memory than there is.
type memoryError struct {
	need   *need
	limit  memory.Limit
	others int64 // bytes of the runs at work beside it, without which it would fit; 0: there are none, or it would not
}

func (e *memoryError) Error() string {
	least, beside, pack := "", "", ""
	if e.need.least {
		least = "at least "
	}
	if e.others > 0 {
		beside, pack = fmt.Sprintf(" beside the %s of other runs", memory.Size(e.others)), "--pack, "
	}
	return fmt.Sprintf("memory: %s with %d clients holds %s%s: %s%s, want at most %s (%s): with fewer %s--clients or "+
		"--threads, a smaller net or --batch, or --memory-limit SIZE|off", e.need.of, e.need.clients, least, e.need,
		memory.Size(e.need.total()), beside, memory.Size(e.limit.Bytes), e.limit.From, pack)
}

// fitsAlone reports whether a run was refused that fits where no other one is at work.
func fitsAlone(err error) bool {
	e, ok := errors.AsType[*memoryError](err)
	return ok && e.others > 0
}

// Fits refuses a run that holds more than there is, as far as that is known before its data are opened: the rows its
// method starts with, a slot of the engine, and the samples of an official data set.
func (l *Session) Fits(s *settings.Settings) error {
	c := &rowCounter{load: nets.CPULoad{Clients: 1, Jobs: 1, Samples: 1}}
	f, err := dryFederation(s, 0, Population{
		Base: make([]float64, s.Clients), Lambda: make([]float64, s.Clients),
		train: slices.Repeat([][]int32{{0}}, s.Clients),
	}, c)
	if err != nil {
		return err
	}
	f.Method.Close()
	n, err := l.need(s, c, datasets.LeastBytes(s.Data, l.dataOptions(s, 0)))
	if err != nil {
		return err
	}
	if limit, known := l.Machine.Memory.Limit(); known && n.total() > limit.Bytes {
		n.least = true
		return &memoryError{need: n, limit: limit}
	}
	return nil
}

// reserve says what a run will hold, now that its data are open, and refuses it if that is more than there is. dry asks
// a counter for all that the run will ask an engine for; what is wrong otherwise is left to the run itself to say.
func (l *Session) reserve(ctx context.Context, s *settings.Settings, dry func(*rowCounter) error) error {
	c := &rowCounter{samples: [2]int{l.Data.Train.Len(), l.Data.Test.Len()}}
	if err := dry(c); err != nil {
		return ctx.Err()
	}
	n, err := l.need(s, c, l.Data.Bytes())
	if err != nil {
		return err
	}
	limit, known := l.Machine.Memory.Limit()
	if err := l.shared.addUse(l, n, limit, known); err != nil {
		return err
	}
	collect(n.run(), limit, known)
	if total := n.total(); n.rows > 0 && (total >= 100e6 || known && total >= limit.Bytes/100) {
		line, available := fmt.Sprintf("memory: %s: %s", n.of, n), ""
		if known {
			available = fmt.Sprintf("; %s available", memory.Size(limit.Bytes))
		}
		l.noticeOfEngine(line, line+available)
	}
	return nil
}

// leastGarbage is how many bytes of garbage may always lie about.
const leastGarbage = 50e6

// collect has Go collect its garbage before that is more than a tenth of what a run holds, in place of as much again,
// and before the limit is reached. It takes hardly any time: what is large here holds no pointers to follow. Whoever
// sets GOGC or GOMEMLIMIT has the last word.
func collect(run int64, limit memory.Limit, known bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(int(min(100, max(10, 100*leastGarbage/(run+1)))))
	}
	if known && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit.Bytes)
	}
}

// need returns what a run holds of which a counter was asked for so much. Of a run on a card that is its samples.
func (l *Session) need(s *settings.Settings, c *rowCounter, data int64) (*need, error) {
	n := &need{of: s.Method, clients: s.Clients, data: data}
	choice, err := l.Machine.Choose()
	if err != nil || choice.CUDA {
		return n, err
	}
	model, err := nets.NewModel(s.Net)
	if err != nil {
		return nil, err
	}
	n.rows, n.params = c.rows, model.P
	n.engine, err = nets.CPUBytes(model, nets.CPUOptions{Threads: l.threads(), Batch: s.Batch}, c.load)
	n.engine += 4 * int64(model.P) // the initial weights
	return n, err
}

// hold notes what a session's run holds beside those of other sessions, in place of what its last one held.
func (d *sharedData) addUse(l *Session, n *need, limit memory.Limit, known bool) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.uses, l)
	others, sets := int64(0), []*openSet{l.set}
	for _, h := range d.uses {
		others += h.run
		if !slices.Contains(sets, h.set) {
			sets, others = append(sets, h.set), others+h.data
		}
	}
	if total := n.total(); known && total+others > limit.Bytes {
		if total > limit.Bytes {
			others = 0
		}
		return &memoryError{need: n, limit: limit, others: others}
	}
	if d.uses == nil {
		d.uses = map[*Session]memoryUse{}
	}
	d.uses[l] = memoryUse{n.run(), l.set, n.data}
	return nil
}

// held is what a session's run holds.
type memoryUse struct {
	run  int64
	set  *openSet
	data int64
}

// release forgets what a session's last run held.
func (d *sharedData) dropUse(l *Session) {
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.uses, l)
}
