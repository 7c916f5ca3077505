package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/recall/rank"
)

// BenchmarkRankChinese ranks 400 messages in Chinese beside 400 of 280 characters in English, and prints the ratio of
// their median times: for the same messages, which have a quarter of the characters in Chinese, and for as many
// characters. A third of the text of each is what few others have.
func BenchmarkRankChinese(b *testing.B) {
	english := benchmarkPool(46, 1)
	pools := map[string][]rank.Candidate{"same": chinesePool(english, 4), "characters": chinesePool(english, 1)}
	for name, chinese := range pools {
		b.Run(name, func(b *testing.B) {
			asked := [2]string{"When did Ann swap the hip thrusts because of my back?", "教练为什么说先停深蹲换成臀桥？"}
			var took [2][]time.Duration
			for b.Loop() {
				for n, pool := range [][]rank.Candidate{english, chinese} {
					began := time.Now()
					rank.Default().Rank(rank.NewQuery(asked[n], now), pool)
					took[n] = append(took[n], time.Since(began))
				}
			}
			for n := range took {
				slices.Sort(took[n])
			}
			b.ReportMetric(float64(took[1][len(took[1])/2])/float64(took[0][len(took[0])/2]), "chinese/english")
		})
	}
}

// chinesePool returns candidates with texts in Chinese in place of others, which have so many times as many characters.
func chinesePool(pool []rank.Candidate, shorter int) []rank.Candidate {
	common := []rune("教练今天说先停深蹲一周换成臀桥因为我的膝盖从星期一又开始疼了昨天和李娜去公园散步以后好多了")
	const rare, first = 3000, '一'
	pool = slices.Clone(pool)
	for i := range pool {
		text := make([]rune, utf8.RuneCountInString(pool[i].Text)/shorter)
		for j := range text {
			switch {
			case j%20 == 19:
				text[j] = '，'
			case j%3 == 0:
				text[j] = first + rune((i*31+j*j*17)%rare)
			default:
				text[j] = common[(i*7+j*j)%len(common)]
			}
		}
		pool[i].Text = string(text)
	}
	return pool
}

// BenchmarkRank ranks 400 matches, of whose words a third are words that few others have: short messages of 280
// characters, and parts of 1,000 characters of messages that an assistant wrote. It does so beside the floor: reading
// each byte of the latter once.
func BenchmarkRank(b *testing.B) {
	query := "When did Ann swap the hip thrusts because of my back?"
	long := benchmarkPool(170, 4)
	for name, pool := range map[string][]rank.Candidate{"short": benchmarkPool(46, 1), "long": long} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rank.Default().Rank(rank.NewQuery(query, now), pool)
			}
		})
	}
	b.Run("floor", func(b *testing.B) {
		sum := 0
		for b.Loop() {
			for i := range long {
				for j := range len(long[i].Text) {
					sum += int(long[i].Text[j])
				}
			}
		}
	})
}

// benchmarkPool returns 400 parts of so many words, some of which are of one message.
func benchmarkPool(words, parts int) []rank.Candidate {
	common := strings.Fields("Can we swap the barbell hip thrusts for banded glute bridges today, Ann, " +
		"because my lower back is sore again since Monday? I have added several words that no other message has")
	syllables := strings.Fields("ba do swi tre ka len mor ni pra qua ris so tam ul ves hi")
	pool := make([]rank.Candidate, 400)
	for i := range pool {
		var text []string
		for j := range words {
			if n := i*31 + j*j*17; j%3 == 0 {
				text = append(text, syllables[n%16]+syllables[n/16%16]+syllables[n/256%16]+"ed")
			} else {
				text = append(text, common[(i*7+j*j)%len(common)])
			}
		}
		message := i / parts
		pool[i] = rank.Candidate{
			ID: fmt.Sprint(message), Session: fmt.Sprint("s", message/20), Seq: message % 20,
			Role: []string{"user", "assistant"}[message%2], Score: 1 / float64(i+1), Text: strings.Join(text, " "),
			Time: now.Add(-time.Duration(message) * time.Hour),
		}
	}
	return pool
}
