// Package must ends tests that cannot go on: text := must.Get(os.ReadFile(path))(t).
package must

import "testing"

// Get returns a function that returns v, and ends the test if err is not nil.
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// OK ends the test if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
