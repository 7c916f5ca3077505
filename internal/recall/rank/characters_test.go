package rank_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/recall/rank"
)

// TestAllWordsOfHan has a message with all words of a query in Chinese, and one with some of their characters in other
// words. The first has all words: the single characters of a query's pairs are not asked of it beside these.
func TestAllWordsOfHan(t *testing.T) {
	t.Parallel()
	var pool []rank.Candidate
	for i, text := range []string{
		"我的膝盖昨天受伤了。", "盖被子很重要，伤心也没用。", "今天我们去公园散步了，天气很好。", "我想下周开始学游泳。",
		"晚上和同事一起吃了火锅。", "周末打算在家看电影。", "最近睡得不好，总是半夜醒。",
	} {
		id := fmt.Sprint(i)
		pool = append(pool, rank.Candidate{ID: id, Session: id, Text: text, Role: "user", Time: now.AddDate(0, 0, i-30)})
	}
	m, column := rank.Features(rank.NewQuery("膝盖受伤", now), pool), slices.Index(rank.Names[:], "allWords")
	for i := range m.Len() {
		switch share := m.Row(i)[column]; m.ID(i) {
		case "0":
			if share < 0.95 {
				t.Errorf("the message with all words has %.2f of them", share)
			}
		case "1":
			if share <= 0 || share > 0.6 {
				t.Errorf("the message with characters of them has %.2f", share)
			}
		default:
			if share != 0 {
				t.Errorf("message %s, which has none, has %.2f", m.ID(i), share)
			}
		}
	}
}
