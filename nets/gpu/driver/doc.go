//go:build gpu && linux && cgo

// Package driver binds NVIDIA's CUDA driver: devices, memory, streams, events, graphs and kernels.
//
// It loads the driver's library at run time, so that one binary runs on machines with and without a card, and needs a C
// compiler to build, but no file of NVIDIA's. A [Device] belongs to the OS thread that opened it, so a caller makes all
// calls about it on one [Thread]:
//
//	thread := driver.NewThread()
//	defer thread.Close()
//	err := thread.Do(func() error {
//		d, err := driver.Open(0)
//		if err != nil {
//			return err // there is no driver, no card, or none that can be used
//		}
//		p, err := d.Alloc(4)
//		return errors.Join(err, d.CopyToDevice(p, driver.Bytes([]float32{1})), d.Free(p), d.Close())
//	})
//
// A new driver function is a line in calls.h, which shim.c turns into a jump into the library. The tests run on
// testdata/fakecuda.c, a library whose calls fail when a test asks for it, and on the real driver of a machine with a
// card.
package driver
