package quote_test

import (
	"testing"

	"github.com/throughline/throughline/internal/quote"
)

// TestRepeats has messages of one person, of whom the first is to be forgotten. Everyday words and amounts that both
// have are no reason to forget the other one.
func TestRepeats(t *testing.T) {
	t.Parallel()
	for of, other := range map[string]struct{ same, unrelated []string }{
		"What do you think about inviting my ex Tom to the wedding?": {
			[]string{
				"Well, what do you think about inviting my ex Tom, seriously?",
				"I keep inviting my ex Tom to the wedding in my dreams.",
			},
			[]string{
				"What do you think about the effect of statins on my muscles? I take atorvastatin 20 mg.",
				"Tell me, what do you think about my knee?",
			},
		},
		"I earn 3500 euros.": {
			[]string{"My 3500 euros are not enough."}, []string{"My doctor allows 3500 mg of sodium, for my heart."},
		},
		"My locker code is 4711.":         {[]string{"4711, or was it another one?"}, []string{"I walked 4712 steps."}},
		"The card is 4929 1234 5678 9010": {[]string{"Does it end in 9010?"}, nil},
		"Ich weiß nicht, was ich machen soll, ich bin in Quentin verliebt.": {
			[]string{"Dass ich in Quentin verliebt bin: ich bin in Quentin verliebt."},
			[]string{
				"Ich weiß nicht, was ich machen soll, mein Blutdruck ist 180 zu 110.",
				"Ich weiß nicht, was ich machen soll!",
			},
		},
		"No sé qué hacer con mi amante Quintín, que vive en Oporto.": {
			[]string{"Mi amante Quintín, que vive en Oporto, llama."},
			[]string{"No sé qué hacer con mi alergia a la penicilina."},
		},
		"Je ne sais pas quoi faire avec mon amant Quentin de Porto.": {
			[]string{"Et avec mon amant Quentin de Porto ?"},
			[]string{"Je ne sais pas quoi faire, mon fils est allergique aux arachides."},
		},
		"我不知道我应该怎么办才好，我爱上了同事张伟，他住在波尔图。": {
			[]string{"你说过我爱上了同事张伟，他住在波尔图。"},
			[]string{"我不知道我应该怎么办才好，我对青霉素过敏。", "我不知道我应该怎么办才好。"},
		},
		"我每个月挣3500欧元，从不告诉妻子。": {[]string{"3500欧元不够用。"}, []string{"医生说我每天可以吃3500毫克的钠。"}},
		"どうしたらいいのかわからないのですが、会社の田中さんが好きです。": {
			[]string{"やっぱり会社の田中さんが好きです。"}, []string{"どうしたらいいのかわからないのですが、卵アレルギーがあります。"},
		},
		"لا اعرف ماذا يجب أن أفعل مع حبيبي كوينتن في بورتو": {
			[]string{"مع حبيبي كوينتن في بورتو"}, []string{"لا اعرف ماذا يجب أن أفعل، لدي حساسية من البنسلين"},
		},
		"मुझे नहीं पता कि मुझे क्या करना चाहिए, मेरा प्रेमी क्वेंटिन पोर्टो में है": {
			[]string{"मेरा प्रेमी क्वेंटिन पोर्टो में रहता है"},
			[]string{"मुझे नहीं पता कि मुझे क्या करना चाहिए, मूंगफली से एलर्जी है"},
		},
		"What do you think?": {nil, []string{"What do you think?", "So what do you think about it?"}},
	} {
		m := quote.New(of)
		for _, text := range other.same {
			if !m.Repeats(text) {
				t.Errorf("%q does not repeat %q", text, of)
			}
		}
		for _, text := range other.unrelated {
			if m.Repeats(text) {
				t.Errorf("%q repeats %q", text, of)
			}
		}
	}
}
