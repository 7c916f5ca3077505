// Package parallel runs the parts of a batch in parallel, with a limit.
package parallel

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 to n-1, at most limit at once, and waits for all of them. A panic in one is raised again in the
// caller's goroutine, where the handler of the batch can recover; in its own goroutine it would end the process.
func Each(n, limit int, do func(i int)) {
	var panicked atomic.Pointer[any]
	var work errgroup.Group
	work.SetLimit(limit)
	for i := range n {
		work.Go(func() error {
			defer func() {
				if v := recover(); v != nil {
					panicked.CompareAndSwap(nil, &v)
				}
			}()
			do(i)
			return nil
		})
	}
	_ = work.Wait() // no part returns an error
	if v := panicked.Load(); v != nil {
		panic(*v)
	}
}
