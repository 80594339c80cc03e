package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat/distuv"
)

// Cycle is the sine fitted to the number of active clients: in round t its mean is Σ_i p_i·(γ sin(2πt/P + φ) + 1 − γ).
type Cycle struct {
	P float64 // of the test that there is no cycle; NaN: not tested

	// The following are the strongest cycle's; it is one by chance if P is not small.
	Period Interval // P, in rounds
	Gamma  Interval // γ
	Phase  Interval // φ, in radians; the value is in (−π, π], and the interval may leave it. The sine model has 0.
	// Share is the part of the variance of the number of active clients that the sine explains.
	Share float64
	// Harmonics is P of the test that the frequencies 2/P and 3/P are noise, as if the cycle is a sine; NaN if neither
	// is below half a cycle per round.
	Harmonics float64

	mean, sine, cosine float64 // of the number of active clients: mean + sine·sin(2πt/P) + cosine·cos(2πt/P)
}

// At returns the fitted number of active clients in round t.
func (c *Cycle) At(t int) float64 {
	sin, cos := math.Sincos(2 * math.Pi * float64(t) / c.Period.Value)
	return c.mean + c.sine*sin + c.cosine*cos
}

// Found reports whether there is a cycle, at a significance of 5 %.
func (c *Cycle) Found() bool { return c.P < 0.05 }

// lambda returns the λ of a client whose rounds are independent around the sine: the covariance of neighbouring rounds,
// p_i²γ²/2·cos(2π/P), over their variance. It is 0 if there is no cycle.
func (c *Cycle) lambda(client *Client) float64 {
	pi := client.Pi.Value
	if !c.Found() || !(pi > 0 && pi < 1) {
		return 0
	}
	amplitude := client.P * c.Gamma.Value
	return amplitude * amplitude / 2 * math.Cos(2*math.Pi/c.Period.Value) / (pi * (1 - pi))
}

// FewestRounds is how many rounds the cycle, the groups and the tests need.
const FewestRounds = 100

// fewestCycles is how often the longest cycle looked for comes in the record.
const fewestCycles = 4

// cycleOf fits a sine to the number of active clients x [T].
//
// The number of clients who come and go without a cycle has a memory, so that its periodogram is not flat. Here it is
// divided by shape(ω), the spectrum of the fitted chains up to a factor, and by its running median, for noise that the
// chains do not describe (M. E. Mann, J. M. Lees: Robust Estimation of Background Noise and Signal Detection in
// Climatic Time Series, Climatic Change 33, 1996). What is left of noise is exponential. The median of n exponential
// numbers has the variance of a mean of k = n·ln²2, so that a frequency is g times its level with the probability
// (1 + g/k)^(−k), as in an F distribution, and the largest of M with 1 − (1 − (1 + g/k)^(−k))^M. Cycles are looked for
// from 2 rounds to a quarter of the record.
//
// Period, γ and φ are those of least squares, their standard errors those of a sine in noise with a spectrum S(ω):
// Var(ω̂) = 24 S(ω)/(R²T³), of the amplitude R 2 S(ω)/T, and of the phase in round 0 8 S(ω)/(R²T) (A. M. Walker: On the
// Estimation of a Harmonic Component in a Time Series with Stationary Independent Residuals, Biometrika 58, 1971; E. J.
// Hannan: The Estimation of Frequency, Journal of Applied Probability 10, 1973).
func cycleOf(x []float64, shape func(omega float64) float64) Cycle {
	n := smooth(len(x))
	x = x[:n]
	c := Cycle{P: math.NaN(), Harmonics: math.NaN(), Share: math.NaN()}
	none := Interval{math.NaN(), math.NaN(), math.NaN()}
	c.Period, c.Gamma, c.Phase = none, none, none
	if n < FewestRounds || slices.Min(x) == slices.Max(x) {
		return c
	}
	spectrum := periodogram(x)
	first, last := fewestCycles, (n-1)/2
	ratio := make([]float64, last+1)
	for j := 1; j <= last; j++ {
		ratio[j] = spectrum[j] / shape(2*math.Pi*float64(j)/float64(n))
	}
	level, window := background(ratio[1:])
	peak, most := 0, 0.0
	for j := first; j <= last; j++ {
		if g := ratio[j] / level[j-1]; g > most {
			peak, most = j, g
		}
	}
	many := window * math.Ln2 * math.Ln2
	c.P = -math.Expm1(float64(last-first+1) * math.Log1p(-math.Pow(1+most/many, -many)))

	// Least squares, within a bin of the peak.
	bin := 2 * math.Pi / float64(n)
	omega := maximum(bin*(float64(peak)-1), bin*(float64(peak)+1), func(omega float64) float64 {
		return harmonic(x, omega).explained
	})
	h := harmonic(x, omega)
	c.mean, c.sine, c.cosine, c.Share = h.mean, h.sine, h.cosine, h.explained/h.total
	rest := make([]float64, n)
	for t := range x {
		sin, cos := math.Sincos(omega * float64(t))
		rest[t] = x[t] - h.mean - h.sine*sin - h.cosine*cos
	}
	noise := periodogram(rest)
	// around returns the mean of the noise at about fourteen frequencies beside j, but not at j and beside
	// it, where the sine took noise with it; and how many there are.
	around := func(j int) (level, k float64) {
		s := 0.0
		for i := max(1, j-8); i <= min(last, j+8); i++ {
			if i < j-1 || i > j+1 {
				s += noise[i]
				k++
			}
		}
		return s / k, k
	}
	s, k := around(peak)
	z := distuv.StudentsT{Sigma: 1, Nu: 2 * k}.Quantile(0.975)
	t := float64(n)
	amplitude := math.Hypot(h.sine, h.cosine)
	se := math.Sqrt(24*s/(t*t*t)) / amplitude
	c.Period = Interval{2 * math.Pi / omega, 2 * math.Pi / (omega + z*se), 2 * math.Pi / max(omega-z*se, 0)}
	phase := math.Atan2(h.cosine, h.sine)
	se = math.Sqrt(8*s/t) / amplitude
	c.Phase = Interval{phase, phase - z*se, phase + z*se}
	// γ = R/(R + m), of the amplitude R and the mean m.
	gamma := amplitude / (amplitude + h.mean)
	slow, _ := around(0)
	byAmplitude, byMean := h.mean, amplitude
	se = math.Sqrt(byAmplitude*byAmplitude*2*s/t+byMean*byMean*slow/t) /
		((amplitude + h.mean) * (amplitude + h.mean))
	c.Gamma = Interval{gamma, max(gamma-z*se, 0), min(gamma+z*se, 1)}
	var power, df, of float64
	for k := 2; k <= 3; k++ {
		if w := float64(k) * omega; w < math.Pi {
			j := int(math.Round(w / bin))
			level, numbers := around(j)
			of += numbers
			hk := harmonic(rest, w)
			power += (hk.sine*hk.sine + hk.cosine*hk.cosine) * t / 4 / level
			df++
		}
	}
	if df > 0 {
		c.Harmonics = distuv.F{D1: 2 * df, D2: 2 * of}.Survival(power / df)
	}
	return c
}

// smooth returns the largest number up to n without a prime factor above 97, since a Fourier transform of n numbers
// takes time in proportion to its factors. At most a few rounds are left out.
func smooth(n int) int {
	for ; ; n-- {
		rest := n
		for p := 2; p <= 97; p++ {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return n
		}
	}
}

// periodogram returns |Σ_t (x_t − x̄) e^(−2πijt/T)|²/T for j = 0 … T/2.
func periodogram(x []float64) []float64 {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	centred := make([]float64, len(x))
	for t, v := range x {
		centred[t] = v - mean
	}
	power := make([]float64, len(x)/2+1)
	for j, v := range fourier.NewFFT(len(x)).Coefficients(nil, centred) {
		power[j] = (real(v)*real(v) + imag(v)*imag(v)) / float64(len(x))
	}
	return power
}

// background returns the mean of exponential noise that its running median says, the same for a few neighbours, and the
// numbers in each median.
func background(x []float64) (level []float64, window float64) {
	half := min(max(50, len(x)/8), (len(x)-1)/2)
	level = make([]float64, len(x))
	for j := range x {
		if j%(half/8) > 0 {
			level[j] = level[j-1]
			continue
		}
		start := min(max(0, j-half), max(0, len(x)-2*half-1))
		near := slices.Sorted(slices.Values(x[start : start+2*half+1]))
		level[j] = near[half] / math.Ln2
	}
	return level, float64(2*half + 1)
}

// fitted is a sine of one frequency: mean + sine·sin(ωt) + cosine·cos(ωt). explained is how much less the sum of
// squares is with it, of total.
type fitted struct{ mean, sine, cosine, explained, total float64 }

// harmonic fits a sine by least squares.
func harmonic(x []float64, omega float64) fitted {
	var s, c, ss, cc, sc, y, yy, ys, yc float64
	n := float64(len(x))
	step := complex(math.Cos(omega), math.Sin(omega))
	at := complex(1, 0)
	for t, v := range x {
		if t%64 == 0 { // products drift
			sin, cos := math.Sincos(omega * float64(t))
			at = complex(cos, sin)
		}
		sin, cos := imag(at), real(at)
		s, c = s+sin, c+cos
		ss, cc, sc = ss+sin*sin, cc+cos*cos, sc+sin*cos
		y, yy, ys, yc = y+v, yy+v*v, ys+v*sin, yc+v*cos
		at *= step
	}
	ss, cc, sc = ss-s*s/n, cc-c*c/n, sc-s*c/n
	ys, yc = ys-y*s/n, yc-y*c/n
	det := ss*cc - sc*sc
	a, b := (ys*cc-yc*sc)/det, (yc*ss-ys*sc)/det
	return fitted{(y - a*s - b*c) / n, a, b, a*ys + b*yc, yy - y*y/n}
}

// maximum returns where f is largest in [low, high], by golden section. It has one maximum there.
func maximum(low, high float64, f func(float64) float64) float64 {
	const g = 0.6180339887498949
	a, b := high-g*(high-low), low+g*(high-low)
	fa, fb := f(a), f(b)
	for range 40 {
		if fa > fb {
			high, b, fb = b, a, fa
			a = high - g*(high-low)
			fa = f(a)
		} else {
			low, a, fa = a, b, fb
			b = low + g*(high-low)
			fb = f(b)
		}
	}
	return (low + high) / 2
}

// shapeOf returns the spectrum of the number of active clients if each follows its chain: Σ_i π_i(1−π_i)(1−λ_i²)/(1 −
// 2λ_i cos ω + λ_i²). The λ_i are rounded to 1/100.
func shapeOf(clients []Client) func(omega float64) float64 {
	var weight [201]float64
	for i := range clients {
		pi, lambda := clients[i].Feasible()
		weight[100+int(math.Round(100*min(lambda, 0.99)))] += pi * (1 - pi)
	}
	return func(omega float64) (s float64) {
		for k, w := range weight {
			if w > 0 {
				l := max(float64(k-100)/100, -0.99)
				s += w * (1 - l*l) / (1 - 2*l*math.Cos(omega) + l*l)
			}
		}
		return s
	}
}
