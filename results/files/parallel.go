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
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := 0; i < n && ctx.Err() == nil; i++ {
		room <- struct{}{}
		workers.Go(func() {
			f(i)
			<-room
		})
	}
	workers.Wait()
	return ctx.Err()
}
