package trace

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"rollcall/internal/files"
)

func readFedScale(r io.Reader, o Options) (*Trace, error) {
	if err := o.needSeconds("FedScale's trace is"); err != nil {
		return nil, err
	}
	p, top, err := readPickle(r)
	if err != nil {
		return nil, fmt.Errorf("pickle: %w", err)
	}
	if top.kind != kindDict {
		return nil, fmt.Errorf("pickle: %s, want a dict of devices", top.kind)
	}
	c, err := newCycles(o)
	if err != nil {
		return nil, err
	}
	var ids devices
	shortest, longest := math.Inf(1), 0.0
	items := p.dicts[top.n]
	for ; len(items) > 0; items = items[2:] {
		id := ""
		switch key := items[0]; key.kind {
		case kindText:
			id = p.texts[key.n]
		case kindInt:
			id = strconv.FormatInt(key.n, 10)
		default:
			return nil, fmt.Errorf("device %d: its key is %s, want a text or an int", len(ids.ids), key.kind)
		}
		if err := ids.add(id); err != nil {
			return nil, err
		}
		period, err := p.device(items[1], c)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", quoted(id), err)
		}
		shortest, longest = min(shortest, period), max(longest, period)
	}
	if len(ids.ids) == 0 {
		return nil, fmt.Errorf("no device, want at least one")
	}
	if err := o.checkCount(len(ids.ids)); err != nil {
		return nil, err
	}
	t := &Trace{IDs: ids.ids, source: c}
	after := fmt.Sprintf("%g", shortest)
	if shortest != longest {
		after = fmt.Sprintf("%g to %g", shortest, longest)
	}
	t.Notes = append(t.Notes, fmt.Sprintf("FedScale: each device starts again after its own finish_time, %s s", after))
	if c.reversed > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("FedScale: %s with an end before the start, left out",
			files.Count(c.reversed, "interval")))
	}
	return t, nil
}

// device adds a device to c, and returns its finish_time.
func (p *pickle) device(v value, c *cycles) (finish float64, err error) {
	if v.kind != kindDict {
		return 0, fmt.Errorf("%s, want a dict", v.kind)
	}
	var fields struct{ active, inactive, finish *value }
	dict := p.dicts[v.n]
	for k := 0; k < len(dict); k += 2 {
		if dict[k].kind != kindText {
			continue
		}
		switch p.texts[dict[k].n] {
		case "active":
			fields.active = &dict[k+1]
		case "inactive":
			fields.inactive = &dict[k+1]
		case "finish_time":
			fields.finish = &dict[k+1]
		}
	}
	var lists [2][]value
	for k, name := range []string{"active", "inactive"} {
		of := [...]*value{fields.active, fields.inactive}[k]
		switch {
		case of == nil:
			return 0, fmt.Errorf("no %s, want active, inactive and finish_time", name)
		case of.kind != kindList:
			return 0, fmt.Errorf("%s: %s, want a list of seconds", name, of.kind)
		}
		lists[k] = p.lists[of.n]
	}
	if fields.finish == nil {
		return 0, fmt.Errorf("no finish_time, want active, inactive and finish_time")
	}
	finish, ok := fields.finish.number()
	period, fits := micros(finish)
	switch {
	case !ok:
		return 0, fmt.Errorf("finish_time: %s, want a number", fields.finish.kind)
	case !fits || period == 0:
		return 0, fmt.Errorf("finish_time: %g, want seconds above 0", finish)
	case len(lists[0]) != len(lists[1]):
		return 0, fmt.Errorf("%d active and %d inactive, want as many", len(lists[0]), len(lists[1]))
	}
	for k := range lists[0] {
		var ends [2]int64
		for e, name := range []string{"active", "inactive"} {
			v := lists[e][k]
			x, ok := v.number()
			if !ok {
				return 0, fmt.Errorf("%s[%d]: %s, want a number", name, k, v.kind)
			}
			if ends[e], fits = micros(x); !fits {
				return 0, fmt.Errorf("%s[%d]: %g, want seconds from 0", name, k, x)
			}
		}
		c.add(ends[0], ends[1], period)
	}
	return finish, c.done(period, 0)
}
