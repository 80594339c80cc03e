//go:build gpu && linux && cgo

package selftest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"rollcall/nets/gpu"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// card is an open card. It stays open during all checks, since a driver takes its context down, and all loaded kernels
// with it, when nobody has the card open.
type card struct {
	info   gpu.Card
	thread *driver.Thread
	device *driver.Device
}

func newCard(info gpu.Card) *card { return &card{info: info, thread: driver.NewThread()} }

// open opens the card. found names the driver and the memory.
func (c *card) open() (found string, err error) {
	err = c.thread.Do(func() (err error) {
		if c.device, err = driver.Open(c.info.Index); err != nil {
			return err
		}
		free, total, err := c.device.FreeMemory()
		if err != nil {
			return err
		}
		found = fmt.Sprintf("%s, %s, %d multiprocessors, %s of %s free, %sfor CUDA %s", c.info.Name, c.info.Arch(),
			c.info.Multiprocessors, driver.Size(free), driver.Size(total), driverRelease(), c.info.Driver)
		return nil
	})
	return found, err
}

var releaseNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// driverRelease returns the release of NVIDIA's kernel module, such as "driver 550.54.15 ". Where the module does
// not say, as under WSL, it returns "driver ".
func driverRelease() string {
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if err != nil {
		return "driver "
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if number := releaseNumber.Find(line); number != nil {
		return fmt.Sprintf("driver %s ", number)
	}
	return "driver "
}

// loadKernels loads every kernel of a precision, and those without a precision, as an engine does. The driver compiles
// the kernels that it has not compiled before. found says when: while it loads the modules, or while it finds kernels.
func (c *card) loadKernels(p gpu.Precision) (found string, err error) {
	var loaded int
	var loading, finding, all time.Duration
	err = c.thread.Do(func() error {
		var sources []driver.Source
		for _, m := range kernels.Modules() {
			m = m.Only(p)
			sources = append(sources, driver.Source{Name: m.Name, PTX: m.PTX, Kernels: m.Kernels})
			loaded += len(m.Kernels)
		}
		begun := time.Now()
		modules, err := c.device.LoadModules(sources)
		all = time.Since(begun)
		for _, m := range modules {
			if m != nil {
				loading, finding = loading+m.Loading, finding+m.Finding
				err = errors.Join(err, m.Unload())
			}
		}
		return err
	})
	return fmt.Sprintf("%d kernels compiled for %s in %.2f s; all threads: %.2f s loading, %.2f s finding kernels",
		loaded, c.info.Arch(), all.Seconds(), loading.Seconds(), finding.Seconds()), err
}

// copyBytes is the size of the copies that are timed: large enough that the time to begin one does not count.
const copyBytes = 32 << 20

// copies copies a pattern to the card and back. The pattern must come back, and found has the speed of both ways.
func (c *card) copies() (found string, err error) {
	err = c.thread.Do(func() (err error) {
		host, err := c.device.AllocHost(copyBytes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.device.FreeHost(host)) }()
		memory, err := c.device.Alloc(copyBytes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.device.Free(memory)) }()
		stream, err := c.device.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stream.Destroy()) }()
		to, from, err := copyAndBack(stream, memory, host)
		found = fmt.Sprintf("%.1f GB/s to the card, %.1f GB/s back", copyBytes/to.Seconds()/1e9,
			copyBytes/from.Seconds()/1e9)
		return err
	})
	return found, err
}

// copyAndBack copies a pattern to the memory and back, twice, and returns the times of the second pair of copies.
func copyAndBack(stream *driver.Stream, memory driver.Ptr, host []byte) (to, from time.Duration, err error) {
	for pass := range 2 {
		pattern(host, pass)
		begun := time.Now()
		if err := cmp.Or(stream.CopyToDevice(memory, host), stream.Synchronize()); err != nil {
			return 0, 0, err
		}
		to = time.Since(begun)
		clear(host)
		begun = time.Now()
		if err := cmp.Or(stream.CopyFromDevice(host, memory), stream.Synchronize()); err != nil {
			return 0, 0, err
		}
		from = time.Since(begun)
		want := make([]byte, len(host))
		pattern(want, pass)
		for i := range want {
			if host[i] != want[i] {
				return 0, 0, fmt.Errorf("byte %d of %s comes back from the card as %d, want %d",
					i, driver.Size(int64(len(host))), host[i], want[i])
			}
		}
	}
	return to, from, nil
}

// pattern fills bytes with numbers that differ from place to place and from pass to pass.
func pattern(b []byte, pass int) {
	for i := range b {
		b[i] = byte(uint32(i+pass) * 2654435761 >> 24)
	}
}

func (c *card) close() error {
	err := c.thread.Do(func() error {
		if c.device == nil {
			return nil
		}
		return c.device.Close()
	})
	c.thread.Close()
	return err
}
