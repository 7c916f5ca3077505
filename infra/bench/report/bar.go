package report

import "strconv"

// Bar is a value that must not be above its limit.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Held  bool    `json:"held"`
}

// AtMost returns the bar of a value. A negative value means one that could not be measured; its bar is not held.
func AtMost(name string, value, limit float64) Bar {
	return Bar{name, value, limit, value >= 0 && value <= limit}
}

// Missed returns the names of the bars that are not held.
func Missed(bars []Bar) []string {
	var names []string
	for _, b := range bars {
		if !b.Held {
			names = append(names, b.Name)
		}
	}
	return names
}

// BarTable returns a table of bars.
func BarTable(bars []Bar) *Table {
	t := &Table{Header: []string{"has to hold", "measured", "at most", ""}}
	for _, b := range bars {
		held := "held"
		if !b.Held {
			held = "NOT HELD"
		}
		t.Add(b.Name, measured(b.Value), strconv.FormatFloat(b.Limit, 'f', -1, 64), held)
	}
	return t
}

// measured writes a count without decimals and any other value with three.
func measured(v float64) string {
	if v == float64(int(v)) {
		return strconv.Itoa(int(v))
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
