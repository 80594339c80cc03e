package kernels

import "math"

// Ignore is the label of a sample that does not count: the padding of a ragged batch.
const Ignore = -1

// wideLanes is the number of elements that the vector kernels of Softmax take at a time.
const wideLanes = 8

// CrossEntropy returns the loss of one client: the mean of −log softmax(logits)[label] over the samples that count. It
// sets grad to the gradient of the loss. logits, grad [B,O], labels [B]. A sample labelled [Ignore] does not count, and
// its gradient is 0. If no sample counts, the loss is 0. Exponentials and sums are in float64.
func CrossEntropy[T Float](e *Exec[T], logits []T, labels []int32, grad []T) (loss T) {
	n := len(logits) / len(labels)
	count := 0
	for _, l := range labels {
		if l != Ignore {
			count++
		}
	}
	if count == 0 {
		clear(grad)
		return 0
	}
	exp := e.exponentials(n)
	c := 1 / float64(count)
	sum := 0.0
	for i, label := range labels {
		row := logits[i*n:][:n]
		d := grad[i*n:][:n]
		if label == Ignore {
			clear(d)
			continue
		}
		top, z := e.Softmax(d, exp, row, c)
		sum += math.Log(z) - (float64(row[label]) - float64(top))
		d[label] = T((exp[label]/z - 1) * c)
	}
	return T(sum / float64(count))
}

// Score returns the sum of the cross-entropies of the samples that count, how many samples the net classifies
// correctly, and how many count. A sample is correct if its label is the first of the largest logits. A row with a NaN
// is never correct.
func Score[T Float](e *Exec[T], logits []T, labels []int32) (loss float64, correct, count int) {
	n := len(logits) / len(labels)
	exp := e.exponentials(n)
	for i, label := range labels {
		if label == Ignore {
			continue
		}
		row := logits[i*n:][:n]
		top, z := e.Softmax(nil, exp, row, 1)
		loss += math.Log(z) - (float64(row[label]) - float64(top))
		count++
		best := 0
		for j, v := range row {
			if v > row[best] || v != v {
				best = j
			}
		}
		if best == int(label) && row[best] == row[best] {
			correct++
		}
	}
	return loss, correct, count
}

// exponentials returns a buffer for the exponentials of a row of n logits, of the length that Softmax needs.
func (e *Exec[T]) exponentials(n int) []float64 {
	n = blocks(n, wideLanes) * wideLanes
	if cap(e.exp) < n {
		e.exp = make([]float64, n)
	}
	return e.exp[:n]
}

// Softmax adds the exponentials in the order of x.
func (generic[T]) Softmax(p []T, e []float64, x []T, c float64) (top T, z float64) {
	top = x[0]
	for _, v := range x {
		top = max(top, v)
	}
	for j, v := range x {
		e[j] = math.Exp(float64(v) - float64(top))
		z += e[j]
	}
	if p != nil {
		f := c / z
		for j := range x {
			p[j] = T(e[j] * f)
		}
	}
	return top, z
}
