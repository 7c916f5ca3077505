package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

func TestIsUrgent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"By the way, I'm ALLERGIC to peanuts.": true, "Ich habe eine Allergie gegen Nüsse.": true,
		"Je m’appelle Anne": true, "Me llamo Ana": true, "My name is Ann.": true, "please call me Al": true,
		"Remember that I train at six": true, "I tore my ACL": true, "tengo asma": true, "Sou alérgica a camarão": true,
		"": false, "What should I do tomorrow?": false, "call men": false, "nonallergic": false, "un asmatico": false,
		"My left shoulder clicks, so no overhead presses.": false, "We lift. " + strings.Repeat("We lift. ", 40): false,
		strings.Repeat("x ", 4000) + "allergic": false,
	} {
		if got := conversation.IsUrgent(text); got != want {
			t.Errorf("%.60q is urgent: %v, want %v", text, got, want)
		}
	}
}

// TestIsUrgentInManyLanguages checks one allergy, one injury and one name in each language of urgent.txt.
func TestIsUrgentInManyLanguages(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][]string{
		"English": {
			"I'm allergic to nuts", "my knee hurts when I squat", "I hurt my back", "I take blood thinners",
			"I had a heart attack last year", "My name is Ann",
		},
		"German":     {"Meine Allergie gegen Nüsse", "mein Knie tut weh", "Ich heiße Anna"},
		"Spanish":    {"Soy alérgica a las nueces", "me duele la rodilla", "Me llamo Ana"},
		"French":     {"Je suis allergique aux noix", "mon genou me fait mal", "Je m'appelle Anne"},
		"Portuguese": {"Sou alérgica a nozes", "meu joelho dói", "Meu nome é Ana"},
		"Chinese":    {"我对花生过敏", "我的膝盖很疼", "我叫安娜"},
		"Japanese":   {"ピーナッツアレルギーがあります", "膝が痛いです", "私の名前はアンナです"},
		"Hindi":      {"मुझे मूंगफली से एलर्जी है", "मेरे घुटने में दर्द है", "मेरा नाम अन्ना है"},
		"Arabic":     {"لدي حساسية من الفول السوداني", "ركبتي تؤلمني", "اسمي آنا"},
		"Bengali":    {"আমার চিনাবাদামে অ্যালার্জি আছে", "আমার হাঁটুতে ব্যথা", "আমার নাম আনা"},
		"Russian":    {"У меня аллергия на арахис", "колено болит", "Меня зовут Анна"},
		"Urdu":       {"مجھے مونگ پھلی سے الرجی ہے", "میرے گھٹنے میں درد ہے", "میرا نام اینا ہے"},
		"Indonesian": {"Saya alergi kacang", "lutut saya sakit", "Nama saya Ana"},
	} {
		for _, text := range texts {
			if !conversation.IsUrgent(text) {
				t.Errorf("%s: %q is not urgent", language, text)
			}
		}
	}
	for _, text := range []string{
		"What should I do tomorrow?", "Was mache ich morgen?", "明天练什么？", "明日は何をしますか", "कल क्या करूँ?",
		"ماذا أفعل غدا؟", "Что мне делать завтра?", "Apa latihan besok?", "¿Qué hago mañana?", "Que faço amanhã?",
	} {
		if conversation.IsUrgent(text) {
			t.Errorf("%q is urgent", text)
		}
	}
}

// TestSeqsOfUsers checks that only messages of the user are counted as those that have to be read.
func TestSeqsOfUsers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	var s conversation.Session
	say := func(role conversation.Role, text string) {
		_, s = s.Extend([]conversation.NewMessage{{Role: role, Content: text}}, now)
	}
	say(conversation.RoleAssistant, "Are you allergic to peanuts?")
	if s.UserSeq != 0 || s.UrgentSeq != 0 || s.NeedsExtraction() {
		t.Errorf("after the assistant's message the session is %+v", s)
	}
	say(conversation.RoleUser, "I'm allergic to peanuts.")
	say(conversation.RoleUser, "Thanks.")
	say(conversation.RoleSystem, "allergy noted")
	if s.UserSeq != 3 || s.UrgentSeq != 2 || !s.NeedsExtraction() {
		t.Errorf("the last message of the user is %d, the last urgent one %d", s.UserSeq, s.UrgentSeq)
	}
	if s.Extracted.Seq = 3; s.NeedsExtraction() {
		t.Error("a session that is read needs it")
	}
}
