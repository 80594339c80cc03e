package files

import (
	"context"
	"runtime"
	"sync"
)

// Parallel calls f for 0 … n−1, at most GOMAXPROCS calls at a time, and waits for them. When ctx is done it starts no
// more calls, and returns ctx.Err() after the running ones.
func Parallel(ctx context.Context, n int, f func(i int)) error {
	var workers sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := 0; i < n && ctx.Err() == nil; i++ {
		slots <- struct{}{}
		workers.Go(func() {
			f(i)
			<-slots
		})
	}
	workers.Wait()
	return ctx.Err()
}
