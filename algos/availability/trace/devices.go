package trace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// devices numbers the ids of a file in order of first appearance.
type devices struct {
	index map[string]int32
	ids   []string
}

// mostID bounds an id, in bytes.
const mostID = 256

var errID = errors.New("want a name of 1 to " + strconv.Itoa(mostID) + " bytes")

// number returns the number of an id.
func (d *devices) number(id string) (int32, error) {
	if i, known := d.index[id]; known {
		return i, nil
	}
	if id == "" || len(id) > mostID {
		return 0, fmt.Errorf("client %.80q: %w", id, errID)
	}
	if d.index == nil {
		d.index = map[string]int32{}
	}
	i := int32(len(d.ids))
	id = strings.Clone(id) // it is a part of a row, which would stay in memory
	d.index[id] = i
	d.ids = append(d.ids, id)
	return i, nil
}

// add numbers an id that must be new.
func (d *devices) add(id string) error {
	if _, known := d.index[id]; known {
		return fmt.Errorf("device %s: twice, want each once", quoted(id))
	}
	_, err := d.number(id)
	return err
}

// clients returns the client that each device is, and the ids of the clients. If all ids are numbers of clients of the
// run, they are these numbers, and a client without a device is never available. Otherwise the devices are the clients
// in order of first appearance.
func (d *devices) clients(o Options) (client []int32, ids, notes []string, err error) {
	client = make([]int32, len(d.ids))
	numbers := o.Clients > 0 && !o.Sampled
	for i, id := range d.ids {
		c, err := strconv.Atoi(id)
		if numbers = numbers && err == nil && c >= 0 && c < o.Clients; !numbers {
			break
		}
		client[i] = int32(c)
	}
	if numbers {
		ids = make([]string, o.Clients)
		for i := range ids {
			ids[i] = strconv.Itoa(i)
		}
		return client, ids, nil, nil
	}
	for i := range client {
		client[i] = int32(i)
	}
	if o.Clients > 0 && !o.Sampled {
		notes = []string{"the ids are not client numbers: devices are clients in order of first appearance"}
	}
	return client, d.ids, notes, o.checkCount(len(d.ids))
}

// checkCount returns an error if the devices of a file cannot be the clients of the run.
func (o *Options) checkCount(devices int) error {
	found := files.Count(devices, "device")
	switch {
	case o.Clients == 0 || devices == o.Clients || o.Sampled && devices > o.Clients:
		return nil
	case o.Sampled:
		return fmt.Errorf("%s, want at least the %d to be sampled (--trace-sample, --clients)", found, o.Clients)
	case devices > o.Clients:
		return fmt.Errorf("%s, want the %d clients of the run (--trace-sample %d samples them, --clients %d takes all)",
			found, o.Clients, o.Clients, devices)
	}
	return fmt.Errorf("%s, want the %d clients of the run (--clients %d, or --trace-sample of at most as many)",
		found, o.Clients, devices)
}
