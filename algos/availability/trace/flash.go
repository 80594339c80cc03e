package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
)

// mostDevice bounds the JSON of a device, in bytes.
const mostDevice = 64 << 20

var errDevice = fmt.Errorf("more than %d bytes in one device", mostDevice)

// perDevice is a reader that refuses to read on beyond mostDevice bytes for a device.
type perDevice struct {
	r          io.Reader
	read, most int64
}

func (p *perDevice) Read(b []byte) (int, error) {
	if p.read > p.most {
		return 0, errDevice
	}
	n, err := p.r.Read(b)
	p.read += int64(n)
	return n, err
}

// ready is a device of FLASH: the seconds since 1970 of its first and last message and of its times of readiness.
type ready struct {
	first, last int64
	times       [][2]int64
}

// flashFile is what is read of a file of FLASH.
type flashFile struct {
	ids     devices
	devices []ready
	unknown map[string]int // states that FLASH does not know, and how often they are there
	useless int            // devices that FLASH leaves out
	why     string         // why the first of them
}

func readFlash(r io.Reader, o Options) (*Trace, error) {
	if err := o.needSeconds("FLASH's trace is"); err != nil {
		return nil, err
	}
	f := &flashFile{unknown: map[string]int{}}
	if err := f.read(r); err != nil {
		return nil, err
	}
	switch {
	case len(f.devices) > 0:
	case f.useless > 0:
		return nil, fmt.Errorf("none of %s can be used: %s", files.Count(f.useless, "device"), f.why)
	default:
		return nil, fmt.Errorf("no device, want at least one")
	}
	var notes []string
	if f.useless > 0 {
		left := files.Count(f.useless, "device")
		notes = append(notes, fmt.Sprintf("FLASH: %s left out, as FLASH does (%s)", left, f.why))
	}
	if len(f.unknown) > 0 {
		notes = append(notes, "FLASH: unknown states, passed over: "+counted(f.unknown))
	}
	if err := o.checkCount(len(f.devices)); err != nil {
		if f.useless > 0 {
			err = fmt.Errorf("%w; %s", err, notes[0])
		}
		return nil, err
	}
	c, err := newCycles(o)
	if err != nil {
		return nil, err
	}
	zero := slices.MinFunc(f.devices, func(a, b ready) int { return int(a.first - b.first) }).first
	for _, d := range f.devices {
		period := (d.last - d.first) * second
		for _, t := range d.times {
			// FLASH compares whole seconds, rounded down, so that all of the last second is in the interval.
			if from, to := max(t[0]-d.first, 0), t[1]-d.first; to >= from {
				c.add(from*second, to*second+second-1, period)
			}
		}
		behind := (d.first - zero) * second % period
		if err := c.done(period, (period-behind)%period); err != nil {
			return nil, err
		}
	}
	notes = append(notes, "FLASH: time 0 is the first message, of "+
		time.Unix(zero, 0).UTC().Format(time.DateTime)+
		"; each device starts again after the time between its first and its last message")
	return &Trace{IDs: f.ids.ids, Notes: notes, source: c}, nil
}

// counted lists what was counted, the most frequent first, and not more than five.
func counted(count map[string]int) string {
	var names []string
	for name := range count {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	var list []string
	for _, name := range names[:min(5, len(names))] {
		list = append(list, fmt.Sprintf("%.80q %d times", name, count[name]))
	}
	if more := len(names) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d others", more))
	}
	return strings.Join(list, ", ")
}

// read reads the devices one by one.
func (f *flashFile) read(r io.Reader) error {
	text := bufio.NewReader(r)
	head, err := text.Peek(mostHead)
	if err != nil && !errors.Is(err, io.EOF) { // a short file
		return err
	}
	plain, err := files.Text(head)
	if err != nil {
		return err
	}
	if len(head) == 0 {
		return errors.New("empty, want an object of devices")
	}
	if _, err := text.Discard(len(head) - len(plain)); err != nil {
		return err
	}
	in := &perDevice{r: text, most: mostDevice}
	d := json.NewDecoder(in)
	token, err := d.Token()
	if err == nil && token != json.Delim('{') {
		return fmt.Errorf("byte 0: JSON of %.80q, want an object of devices", fmt.Sprint(token))
	}
	for k := 0; err == nil && d.More(); k++ {
		in.most = in.read + mostDevice
		if token, err = d.Token(); err != nil {
			break
		}
		id, _ := token.(string)
		if err := f.ids.add(id); err != nil {
			return err
		}
		var device struct {
			Messages *string `json:"messages"`
		}
		err = d.Decode(&device)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			where := wrong.Field
			if where == "" {
				where = "its value"
			}
			return fmt.Errorf("device %s (%d): %s: a JSON %s, want an object with the text messages",
				quoted(id), k, where, wrong.Value)
		}
		if err != nil {
			break
		}
		if device.Messages == nil {
			return fmt.Errorf("device %s (%d): no messages, want an object with the text messages", quoted(id), k)
		}
		one, why := f.device(*device.Messages)
		if why != "" {
			if f.useless++; f.useless == 1 {
				f.why = fmt.Sprintf("device %s (%d): %s", quoted(id), k, why)
			}
			f.ids.ids = f.ids.ids[:len(f.ids.ids)-1]
			continue
		}
		f.devices = append(f.devices, one)
	}
	if err == nil {
		_, err = d.Token()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends, want more: cut off?")
	}
	if err != nil {
		return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	return nil
}

// device reads the messages of a device as the Timer of FLASH does, or says why it has no use for the device.
func (f *flashFile) device(messages string) (d ready, why string) {
	var locked, wifi, charged, any bool
	since := int64(math.MinInt64) // when the device became ready
	const not = math.MinInt64
	line := 0
	for message := range strings.SplitSeq(messages, "\n") {
		line++
		if message = strings.TrimSpace(message); message == "" {
			continue
		}
		fields := strings.Split(message, "\t")
		if len(fields) != 2 {
			return d, fmt.Sprintf("message %d: %.80q, want a time, a tab and a state", line, message)
		}
		at, ok := flashTime(strings.TrimSpace(fields[0]))
		if !ok {
			return d, fmt.Sprintf("message %d: time %.80q, want one like 2020-01-02 03:04:05", line, fields[0])
		}
		if !any {
			d.first, any = at, true
		}
		d.last = at
		switch state := strings.ToLower(strings.TrimSpace(fields[1])); {
		case state == "battery_charged_on":
			charged = true
		case state == "battery_charged_off":
			charged = false
		case state == "wifi":
			wifi = true
		case state == "unknown" || len(state) == 2 && state[0] >= '2' && state[0] <= '5' && state[1] == 'g':
			wifi = false
		case state == "screen_lock":
			locked = true
		case state == "screen_unlock":
			locked = false
		case state == "screen_on" || state == "screen_off" || strings.HasSuffix(state, "%"):
		default:
			state = strings.Clone(state[:min(len(state), mostID)])
			if len(f.unknown) < 1000 || f.unknown[state] > 0 {
				f.unknown[state]++
			}
		}
		switch is := locked && wifi && charged; {
		case is && since == not:
			since = at
		case !is && since != not:
			d.times = append(d.times, [2]int64{since, at})
			since = not
		}
	}
	switch {
	case len(d.times) == 0:
		return d, "never ready from one message to a later one"
	case d.last <= d.first:
		return d, "its last message is not after its first"
	}
	return d, ""
}

// flashTime reads a time such as 2020-01-02 03:04:05, as if it were that of Greenwich, in seconds since 1970.
func flashTime(text string) (int64, bool) {
	t, err := time.Parse("2006-1-2 15:4:5", text)
	return t.Unix(), err == nil && !strings.ContainsAny(text, ".,")
}
