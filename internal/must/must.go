// Package must ends tests that cannot go on: text := must.Get(os.ReadFile(path))(t).
package must

// test is what a test has to be ended: testing.TB has it.
type test interface {
	Helper()
	Fatal(args ...any)
}

// Get returns a function that returns v, and ends the test if err is not nil.
func Get[V any](v V, err error) func(test) V {
	return func(t test) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// OK ends the test if err is not nil.
func OK(t test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get2 is [Get] of two values.
func Get2[V, W any](v V, w W, err error) func(test) (V, W) {
	return func(t test) (V, W) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v, w
	}
}
