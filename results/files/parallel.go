package files

import (
	"context"
	"runtime"
	"sync"
)

// Parallel calls f for 0 … n−1, as many at a time as Go uses processors. A cancelled context ends it, with ctx.Err(),
// once the calls begun are done.
func Parallel(ctx context.Context, n int, f func(i int)) error {
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}
