package rank

import (
	"encoding/binary"
	"math/bits"
)

// bounds finds where the words of a text begin and end, eight bytes at a time. Words are letters and digits of ASCII,
// apostrophes, and all bytes beyond ASCII.
type bounds struct {
	text [chunks * chunkBytes]byte
	// edges has a bit for each byte that begins a word and for each byte after a word, odd one for each byte of a word
	// that is no letter or digit of ASCII.
	edges, odd [chunks]uint64
}

const (
	// chunkBytes is how many bytes of a text have their bits in one number, stepBytes how many are read at once.
	chunkBytes, stepBytes = 64, 8
	// chunks is how many chunks a text has, with the byte after it.
	chunks = maxTextBytes/chunkBytes + 1
)

// find finds the words of a text of at most maxTextBytes. It returns how many chunks the text has.
func (b *bounds) find(text string) (n int) {
	n = len(text)/chunkBytes + 1
	clear(b.text[(n-1)*chunkBytes : n*chunkBytes])
	copy(b.text[:], text)
	before := uint64(0) // 1 where the chunk before ends within a word
	for i := range n {
		var words, odd uint64
		for step := 0; step < chunkBytes; step += stepBytes {
			inWord, isOdd := classify(binary.LittleEndian.Uint64(b.text[i*chunkBytes+step:]))
			words |= inWord << step
			odd |= isOdd << step
		}
		b.edges[i], b.odd[i] = words^(words<<1|before), odd
		before = words >> (chunkBytes - 1)
	}
	return n
}

// nextOdd returns the first byte from a place on that is odd, or the end of the chunks.
func (b *bounds) nextOdd(from, n int) int {
	for i := from / chunkBytes; i < n; i++ {
		set := b.odd[i]
		if i == from/chunkBytes {
			set &= ^uint64(0) << (from % chunkBytes)
		}
		if set != 0 {
			return i*chunkBytes + bits.TrailingZeros64(set)
		}
	}
	return n * chunkBytes
}

// Eight bytes with the same value in each.
const (
	each     = 0x0101010101010101
	highBits = each * 0x80
)

// classify returns a bit for each of eight bytes: whether it is part of a word, and whether it is an apostrophe or
// beyond ASCII. No sum of two bytes below 0x80 carries into the next byte, and its high bit says whether the one is at
// least 0x80 less the other.
func classify(x uint64) (word, odd uint64) {
	low := x &^ highBits
	lower := low | each*0x20 // capital letters are small ones
	letter := (lower + each*(0x80-'a')) &^ (lower + each*(0x80-'z'-1))
	digit := (low + each*(0x80-'0')) &^ (low + each*(0x80-'9'-1))
	apostrophe := ^(low ^ each*'\'' + (highBits - each))
	strange := (apostrophe | x) & highBits
	return gather((letter|digit)&highBits | strange), gather(strange)
}

// gather returns the high bits of eight bytes as the bits of one, the first byte's as the lowest.
func gather(x uint64) uint64 { return x >> 7 * 0x0102040810204080 >> 56 }
