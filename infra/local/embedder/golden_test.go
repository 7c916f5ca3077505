package embedder_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestEmbeddingsStayTheSame compares a hash of many vectors. The shipped ranking is fitted on these vectors, so a
// change of a single bit needs the ranking fitted again.
func TestEmbeddingsStayTheSame(t *testing.T) {
	t.Parallel()
	texts := []string{
		" ", "🎉", "???", "what did we do", "漢字", "Thanks, Ana! That is lovely.", "Ana’s knee", "we ran and swam",
	}
	files, err := filepath.Glob("lexicon/*.txt")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d word lists: %v", len(files), err)
	}
	for _, file := range files {
		data := check.Got(os.ReadFile(file))(t)
		texts = append(texts, strings.Split(string(data), "\n")...)
	}
	e, sum := embedder.New(), sha256.New()
	for i, text := range texts {
		for _, dimensions := range []int{7, 256, embedder.DefaultDimensions} {
			if err := binary.Write(sum, binary.LittleEndian, e.Embed(text, dimensions)); err != nil {
				t.Fatal(i, err)
			}
		}
	}
	const want = "bff1a1d5323a85b46be79f597cd512f4ab8cd46419e4a773b972aad8271dc263"
	check.Equal(t, want, fmt.Sprintf("%x", sum.Sum(nil)), "the vectors have the hash")
}
