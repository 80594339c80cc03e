//go:build gpu && linux && cgo

package selftest

import (
	"fmt"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu"
	"rollcall/nets/gpu/gputest"
)

func TestMain(m *testing.M) { gputest.Main(m, kernelsFolder, false) }

const kernelsFolder = "../kernels"

// checked runs the self-test on the first card and returns its checks and its error.
func checked(t *testing.T, netNames ...string) (checks []Check, err error) {
	t.Helper()
	gputest.Sources(t, kernelsFolder)
	if gputest.LeftOut != "" {
		t.Skip("left out: " + gputest.LeftOut)
	}
	cards := must.Get(gpu.Cards())(t)
	err = Run(t.Context(), cards[0], netNames, func(c Check) {
		verdict := "right"
		if c.Wrong {
			verdict = "WRONG"
		}
		t.Logf("%-21s %s %6.2f s  %s", c.Name, verdict, c.Took.Seconds(), c.Found)
		checks = append(checks, c)
	})
	return checks, err
}

// Everything is right where the kernels are. A whole self-test launches all kernels but those that no net needs.
func TestRight(t *testing.T) {
	names := []string{"linear-binary", "linear-mnist", "lenet5"}
	if testing.Short() {
		names = names[:1]
	}
	if gputest.Long() {
		names = append(Nets(), "cnn-svhn")
	}
	checks, err := checked(t, names...)
	if err != nil {
		t.Error(err)
	}
	if want := 6 + 3*len(names); len(checks) != want {
		t.Fatalf("%d checks, want %d: 6 of the card, 3 of each net", len(checks), want)
	}
	for _, c := range checks {
		if c.Wrong || c.Found == "" {
			t.Errorf("%s: wrong is %t, found %q, want something that is right", c.Name, c.Wrong, c.Found)
		}
	}
	for i, kernels := range []int{39, 40, 40} { // fp32 has no linear_reduce
		c, want := checks[1+i], fmt.Sprintf("%d kernels compiled for sm_90", kernels)
		if !gputest.Real() && c.Found != want {
			t.Errorf("%s: %q, want %q", c.Name, c.Found, want)
		}
	}
	// The other three: add_* is for nets that the catalogue does not have.
	if got, want := checks[len(checks)-1].Found, "92 of 95 kernels"; gputest.Long() && got != want {
		t.Errorf("launches: %q, want %q", got, want)
	}
}
