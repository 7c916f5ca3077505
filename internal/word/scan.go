package word

import "unicode/utf8"

// maxRun is the longest run whose hits are kept, in bytes.
const maxRun = 64

// Append appends the hits in a text that may be of any script, and returns how many words it has, with stop words. Two
// characters of a script without spaces count as a word. Before is how many words stand in front of the text.
func (f *Finder) Append(hits []Hit, text string, before int) ([]Hit, int) {
	if all, n, done := f.appendPlain(hits, text, before); done {
		return all, n
	}
	if len(text) > maxRun {
		return f.appendFolded(hits, Fold(text), before)
	}
	seen, known := f.runs[text]
	if !known {
		seen.hits, seen.words = f.appendFolded(nil, Fold(text), 0)
		f.runs[text] = seen
	}
	for _, h := range seen.hits {
		hits = append(hits, Hit{h.Term, h.At + int32(before)})
	}
	return hits, seen.words
}

// appendFolded appends the hits in a folded text.
func (f *Finder) appendFolded(hits []Hit, folded string, before int) ([]Hit, int) {
	n := before
	for r := range runs(folded) {
		if r.pairs {
			hits = f.appendPairs(hits, r.text, n)
			n += wordsOf(utf8.RuneCountInString(r.text))
			continue
		}
		w := significant(r.text)
		if w == "" {
			continue
		}
		n++
		if at := f.find(w); at != None {
			hits = append(hits, Hit{at, int32(n)})
		}
	}
	return hits, n - before
}

// appendPairs appends the hits in folded characters of one script.
func (f *Finder) appendPairs(hits []Hit, chars string, before int) []Hit {
	if len(f.pairs) == 0 {
		return hits
	}
	n, inPair := 0, false
	for term, at := range pairs(chars) {
		place, found := f.pairs[term]
		if found {
			hits = append(hits, Hit{place, int32(before + 1 + at/2)})
		}
		first, _ := utf8.DecodeRuneInString(term)
		hits = f.appendSingle(hits, first, found || inPair, before+1+at/2)
		n, inPair = at+1, found
	}
	last, _ := utf8.DecodeLastRuneInString(chars)
	return f.appendSingle(hits, last, inPair, before+1+n/2)
}

// appendSingle appends the hit of a character of Han that is a term, unless it is in a pair that is one.
func (f *Finder) appendSingle(hits []Hit, char rune, inPair bool, at int) []Hit {
	if inPair || !f.singles.has(char) {
		return hits
	}
	return f.appendPair(hits, [2]rune{char}, at)
}

// wordsOf is about how many words so many characters are.
func wordsOf(characters int) int { return (characters + 1) / 2 }

// appendPlain appends the hits in a text that needs no folding but that of single characters: it has ASCII, Han, kana,
// Hangul and their punctuation. It reads each character once. It is not done if the text has others.
func (f *Finder) appendPlain(hits []Hit, text string, before int) (all []Hit, words int, done bool) {
	all, n := hits, before
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if r, size = denseAt(text, i), denseBytes; r == 0 {
				return hits, 0, false
			}
		}
		switch of := plainKind(r); of {
		case separator:
			i += size
		case letter:
			end := i + 1
			for end < len(text) && text[end] < utf8.RuneSelf && kindOf(rune(text[end])) == letter {
				end++
			}
			if w := significant(text[i:end]); w != "" {
				n++
				if at := f.Place(w); at != None {
					all = append(all, Hit{at, int32(n)})
				}
			}
			i = end
		case han, kana, hangul:
			var chars int
			all, size, chars = f.appendRun(all, text[i:], of, n)
			i, n = i+size, n+wordsOf(chars)
		default:
			return hits, 0, false
		}
	}
	return all, n - before, true
}

// plainKind returns the kind of a rune that needs no folding with others, or else mark.
func plainKind(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return kindOf(r)
	case r >= firstHan && r <= lastHan:
		return han
	case isKana(r):
		return kana
	case isHangul(r):
		return hangul
	case r >= '、' && r <= '〃', r >= '〈' && r <= '〟', r >= '！' && r <= '／' && r != '＇', r >= '：' && r <= '＠', r == '　',
		r >= '‐' && r <= '‘', r >= '‚' && r <= '…':
		return separator
	}
	return mark
}

// appendRun appends the hits in the characters of a kind with which a text begins. It returns how many bytes and
// characters they are.
func (f *Finder) appendRun(hits []Hit, text string, of kind, before int) (all []Hit, size, chars int) {
	var first, last rune
	mayFollow := false // a term begins with the last character, for all that firsts knows
	inPair := false    // the last character is in a pair that is a term
	for ; ; chars++ {
		r := denseAt(text, size)
		if of == han && uint32(r-firstHan) > lastHan-firstHan || of != han && (r == 0 || plainKind(r) != of) {
			break
		}
		if chars == 0 {
			first = r
		} else if mayFollow {
			n := len(hits)
			if f.seconds.has(r) {
				hits = f.appendPair(hits, [2]rune{last, r}, before+(chars+1)/2)
			}
			found := len(hits) > n
			hits = f.appendSingle(hits, last, found || inPair, before+(chars+1)/2)
			inPair = found
		} else {
			inPair = false
		}
		last, mayFollow = r, f.firsts.has(r)
		size += denseBytes
	}
	if isAlone(first, chars) && f.firsts.has(first) {
		hits = f.appendPair(hits, [2]rune{first}, before+1)
	} else if mayFollow {
		hits = f.appendSingle(hits, last, inPair, before+(chars+1)/2)
	}
	return hits, size, chars
}

// denseBytes is how many bytes a character of Han, kana or Hangul has.
const denseBytes = 3

// denseAt decodes the character at a place, or returns 0 if it does not have three bytes. It costs half as much as
// decoding any character.
func denseAt(text string, at int) rune {
	if len(text) < at+denseBytes {
		return 0
	}
	text = text[at : at+denseBytes]
	a, b, c := text[0], text[1], text[2]
	if a>>4 != 0xE || b>>6 != 2 || c>>6 != 2 {
		return 0
	}
	return rune(a&0xF)<<12 | rune(b&0x3F)<<6 | rune(c&0x3F)
}

// appendPair appends the hit of a pair of characters that are not folded, or of a single one.
func (f *Finder) appendPair(hits []Hit, chars [2]rune, at int) []Hit {
	key := uint64(chars[0])<<32 | uint64(chars[1])
	place, known := f.seen[key]
	if !known {
		term := string(simplest(chars[0]))
		if chars[1] != 0 {
			term += string(simplest(chars[1]))
		}
		if place, known = f.pairs[term]; !known {
			place = None
		}
		f.seen[key] = place
	}
	if place != None {
		hits = append(hits, Hit{place, int32(at)})
	}
	return hits
}
