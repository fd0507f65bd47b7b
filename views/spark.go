package views

import "math"

var (
	sparkFine  = []rune("▁▂▃▄▅▆▇█")
	sparkASCII = []rune(" .:-=+*#")
)

// sparkline draws the last w samples in eight levels, from 0 to the greatest of them; a sample that is not a number is a
// blank. It is as wide as there are samples, at most w.
func (k painter) sparkline(samples []float64, w int) string {
	if w < 1 {
		return ""
	}
	samples = samples[max(len(samples)-w, 0):]
	levels := sparkFine
	if k.ascii {
		levels = sparkASCII
	}
	top := greatest(samples)
	out := make([]rune, len(samples))
	for i, v := range samples {
		switch {
		case !finite(v):
			out[i] = ' '
		case top <= 0 || v <= 0:
			out[i] = levels[0]
		default: // a value above zero is visible
			out[i] = levels[min(max(int(math.Ceil(v/top*float64(len(levels)-1))), 1), len(levels)-1)]
		}
	}
	return string(out)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// greatest is the greatest sample, at least 0.
func greatest(samples []float64) float64 {
	top := 0.0
	for _, v := range samples {
		if finite(v) {
			top = max(top, v)
		}
	}
	return top
}
