package longterm

import "slices"

// namedShare is the share, in percent, of the words of a request to forget that a memory has if it is meant.
const namedShare = 60

// Named returns the memories that a request to forget names, such as "my peanut allergy": those that have three fifths
// of its words, and only those with all of them if there are any. What it misses, because it is said in other words, is
// left to extraction, which reads the message with a model.
func Named(request string, memories []Memory) []Memory {
	asked := stems(request)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	var all, some []Memory
	for _, m := range memories {
		of, same := stems(m.Content+" "+m.About), 0
		for _, word := range asked {
			if slices.ContainsFunc(of, func(w string) bool { return alike(word, w) }) {
				same++
			}
		}
		switch {
		case same == 0:
		case same == len(asked):
			all = append(all, m)
		case same*100 >= len(asked)*namedShare:
			some = append(some, m)
		}
	}
	if len(all) > 0 {
		return all
	}
	return some
}

// alike reports whether two beginnings of words are of one word: "peanut" and "peanuts", "knie" and "knies".
func alike(a, b string) bool {
	if a == b {
		return true
	}
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > shortWord && len(long)-len(short) == 1 && long[:len(short)] == short
}
