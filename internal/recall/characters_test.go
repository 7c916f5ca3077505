package recall_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/recall"
)

// everyday is what a user of Chinese tells on fifteen days, and the answers. None has a noun that the cases ask for.
var everyday = []string{
	"今天我们去公园散步了，天气很好。", "听起来很不错，散步对身体好。", "我的膝盖昨天又开始疼了，怎么办？", "先休息两天，再慢慢恢复训练。",
	"我想下周开始学游泳。", "好的，可以从基础的课程开始。", "你觉得我的工作怎么样？", "你最近工作很努力，注意休息。",
	"晚上和同事一起吃了火锅。", "火锅很香，记得多喝水。", "我的电脑叫什么型号来着，我忘了。", "没关系，可以在设置里查看。",
	"周末打算在家看电影。", "推荐你看一部喜剧片。", "最近睡得不好，总是半夜醒。", "睡前少看手机，试试听音乐。",
	"妈妈明天过来看我们。", "那太好了，准备一点水果吧。", "我要不要换一双跑鞋？", "跑了八百公里就可以换了。",
	"昨天谁给我打的电话？", "我不知道，你可以看一下记录。", "房租下个月要涨了。", "可以和房东商量一下。",
	"儿子的名字我们想了很久。", "慢慢想，不用着急。", "冬天早上起不来。", "试试早一点睡觉。", "地铁今天坏了，迟到了。", "没关系，下次早点出门。",
}

// TestACharacterOfHanIsFound asks for a noun of one character, which is in no pair of the message that has it. A prompt
// has the message, too.
func TestACharacterOfHanIsFound(t *testing.T) {
	t.Parallel()
	for query, told := range map[string]string{
		"我的狗怎么样？": "我养了一只狗。", "狗叫什么名字": "我养了一只狗。", "狗吃什么": "我养了一只狗。", "谁送的茶？": "李娜寄来两盒茶叶。",
		"琴": "女儿每天练琴一小时。", "我要不要吃药": "医生开了药给我。", "爸爸什么病": "我爸有病", "总结一下关于猫的事": "鄰居送我一隻小貓。",
		"貓呢？": "邻居送我一只小猫。", "犬は元気？": "愛犬と暮らしています",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			for day := range len(everyday) / 2 {
				texts := slices.Clone(everyday[2*day : 2*day+2])
				if day == 7 {
					texts = append(texts, told)
				}
				s.addIndexed("ann", "coach_conversation", fmt.Sprint("day", day), time.Duration(day+1)*24*time.Hour, texts...)
			}
			got := contents(s.recall("ann", recall.MessageQuery{Query: query, Limit: new(10)}))
			isTold := func(h recall.Hit) bool { return h.Message != nil && h.Message.Content == told && !h.Irrelevant }
			ranked := s.search("ann", recall.Search{Text: query, Limit: recall.OneRead, Ranked: true}).Hits
			if at := slices.IndexFunc(ranked, isTold); !slices.Contains(got, told) || at < 0 || at >= 10 {
				t.Errorf("number %d of a prompt, %q", at, got)
			}
		})
	}
}
