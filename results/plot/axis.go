package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"

	"rollcall/results/stats"
)

// AxisTick is a value on an axis with its label.
type AxisTick = plot.Tick

// Axis is one axis of a chart: its label, its range and its ticks, which every drawing of the chart shares.
type Axis struct {
	Label     string
	Low, High float64
	Ticks     []AxisTick
}

// Frame returns the title and the axes of a chart, for a caller that draws the chart itself. If a [LineChart] has LogY,
// the numbers of its y axis are decimal logarithms, but the labels of its ticks are not.
func Frame(c Chart) (title string, x, y Axis, err error) {
	p, err := c.plot(styles{})
	if err != nil {
		return "", x, y, err
	}
	return p.Title.Text, axisOf(&p.X), axisOf(&p.Y), nil
}

// axisOf returns an axis with its labelled ticks only.
func axisOf(a *plot.Axis) Axis {
	ticks := slices.DeleteFunc(a.Tick.Marker.Ticks(a.Min, a.Max), func(t AxisTick) bool { return t.Label == "" })
	return Axis{Label: a.Label.Text, Low: a.Min, High: a.Max, Ticks: ticks}
}

// Names returns the names in a figure's legend, in order.
func (f Figure) Names() []string { return f.styles().names }

// axisTicks is the approximate number of labels on an axis.
const axisTicks = 5

// linearTicks returns labels at the multiples of 1, 2 or 5 times a power of ten. Numbers that are too long for an axis
// have an exponent.
func linearTicks(low, high float64) []plot.Tick {
	step, decimals := niceStep(high - low)
	form := byte('f')
	if decimals > 5 || max(math.Abs(low), math.Abs(high)) >= 1e7 {
		form, decimals = 'g', 6
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i <= high/step+1e-9; i++ {
		value := i * step
		if i == 0 {
			value = 0 // instead of −0
		}
		ticks = append(ticks, plot.Tick{
			Value: min(max(value, low), high),
			Label: strconv.FormatFloat(value, form, decimals, 64),
		})
	}
	return ticks
}

// niceStep returns the distance of two labels, so that a span has about axisTicks labels, and their number of decimals.
func niceStep(span float64) (step float64, decimals int) {
	power := math.Floor(math.Log10(span / axisTicks))
	unit := math.Pow(10, power)
	step = 10 * unit
	for _, k := range []float64{1, 2, 5} {
		if span/(k*unit) <= axisTicks*1.2 {
			step = k * unit
			break
		}
	}
	return step, max(0, -int(math.Floor(math.Log10(step)+1e-9)))
}

// countTicks returns ticks like [linearTicks], at whole numbers only.
func countTicks(low, high float64) []plot.Tick {
	if high-low >= axisTicks {
		return linearTicks(low, high)
	}
	var ticks []plot.Tick
	for v := math.Ceil(low); v <= high; v++ {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(int(v))})
	}
	return ticks
}

// dateTicks returns labels at Mondays or, on a long axis, at the first days of months; at every day or second day on a
// short one. low and high are days since 1970.
func dateTicks(low, high float64) (ticks []plot.Tick) {
	const most, mostMonths = 4, 5 // labels are long
	for _, step := range []float64{1, 2, 7, 14} {
		if high-low > most*step {
			continue
		}
		const monday = 4 // 1970-01-05
		for day := monday + step*math.Ceil((low-monday)/step); day <= high; day += step {
			ticks = append(ticks, plot.Tick{Value: day, Label: dateOf(day).Format(time.DateOnly)})
		}
		return ticks
	}
	step := 1 // months
	for _, step = range []int{1, 2, 3, 6, 12, 24, 60, 120} {
		if (high-low)/30.4 <= mostMonths*float64(step) {
			break
		}
	}
	for year := dateOf(low).Year(); ; year++ {
		for month := 1; month <= 12; month++ {
			at := time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)
			day := float64(at.Unix()) / 86400
			if day > high {
				return ticks
			}
			if day >= low && (12*year+month-1)%step == 0 {
				ticks = append(ticks, plot.Tick{Value: day, Label: at.Format("2006-01")})
			}
		}
	}
}

// dateOf returns the time so many days after the beginning of 1970.
func dateOf(days float64) time.Time { return time.Unix(int64(86400*days), 0).UTC() }

// logTicks returns ticks for an axis of decimal logarithms, from 10^low to 10^high. Powers of ten have labels; if these
// are too few, so do 2 and 5 times the powers of ten. The ticks in between have no labels. If even that gives fewer
// than three labels, the ticks are the same as on a linear axis.
func logTicks(low, high float64) []plot.Tick {
	labelled := map[int]bool{1: true, 2: high-low < 3, 5: high-low < 3}
	every := max(1, math.Ceil((high-low)/8)) // so many powers from label to label
	labels := 0
	var ticks []plot.Tick
	for power := math.Floor(low); power <= high; power++ {
		for k := 1; k < 10; k++ {
			at := power + math.Log10(float64(k))
			if at < low || at > high {
				continue
			}
			tick := plot.Tick{Value: at}
			if labelled[k] && math.Mod(power, every) == 0 {
				tick.Label = strconv.FormatFloat(float64(k)*math.Pow(10, power), 'g', 3, 64)
				labels++
			}
			if tick.Label != "" || every == 1 {
				ticks = append(ticks, tick)
			}
		}
	}
	if labels >= 3 {
		return ticks
	}
	ticks = linearTicks(math.Pow(10, low), math.Pow(10, high))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	return ticks
}

// Span is a range that grows with the data of an axis. It starts with [NewSpan]; the zero Span contains 0.
type Span struct{ Low, High float64 }

// NewSpan returns an empty range.
func NewSpan() Span { return Span{math.Inf(1), math.Inf(-1)} }

// Add widens the range to include x, unless x is NaN or infinite.
func (s *Span) Add(x float64) {
	if stats.Finite(x) {
		s.Low, s.High = min(s.Low, x), max(s.High, x)
	}
}

// Axis returns the range to draw, which is never empty: the range of the data, wider by a share of it at both ends. On
// a logarithmic axis it is above 0.
func (s Span) Axis(share float64, logarithmic bool) (low, high float64) {
	switch {
	case s.Low > s.High && logarithmic: // no data
		return 1, 10
	case s.Low > s.High:
		return 0, 1
	case logarithmic:
		low, high = math.Log10(s.Low), math.Log10(s.High)
		more := max(share*(high-low), 0.02)
		return math.Pow(10, low-more), math.Pow(10, high+more)
	}
	more := share * (s.High - s.Low)
	if s.High-s.Low <= 1e-12*max(math.Abs(s.Low), math.Abs(s.High)) {
		more = max(math.Abs(s.High)/10, 1e-6)
	}
	return s.Low - more, s.High + more
}
