package word_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/word"
)

// TestHasContent reads messages that search need not find.
func TestHasContent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"ok": false, "thanks!": false, "\U0001F44D": false, "...": false, "": false, "好的,谢谢!": false, "ठीक है": false,
		"No": true, "Yeah": true, "42": true, "Ok, 3 sets": true, "Mia \U0001F476": true, "膝": true,
		"Danke, bis Dienstag": true, "спасибо": false, "好的": false, "감사합니다": false, "はい": true, "네": true, "Sí": true,
	} {
		check.Equal(t, want, word.HasContent(text), "%q", text)
	}
}

func TestIsReceipt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Noted.": true, "Ok, thanks!": true, "Got it \U0001F44D": true, "Alles klar, danke": true, "Vale, gracias": true,
		"Thank you very much": true, "Yes": true, "Noted: no peanuts.": false, "Ok, 3 sets": false, "No": false, "": false,
		"ok ok ok ok ok ok ok": false, "Done with the squats": false, "\U0001F44D": false,
	} {
		check.Equal(t, want, word.IsReceipt(text), "%q", text)
	}
}

// TestIsCourtesy greets in each language, and asks for something beside it.
func TestIsCourtesy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Hello!", "k", "Good morning", "你好", "早上好", "谢谢", "好的", "你好,谢谢!", "नमस्ते", "धन्यवाद", "¡Hola! ¿Qué tal?", "sí",
		"Bonjour, comment ça va ?", "D’accord", "مرحبا", "السلام عليكم", "হ্যালো", "ধন্যবাদ", "Olá, tudo bem?", "Привет",
		"Привет, как дела?", "ہیلو", "شکریہ", "Hallo, wie geht's?", "Hallo, wie geht’s dir?", "Grüezi", "こんにちは",
		"ありがとう", "はい", "Halo", "Selamat pagi", "Ciao, come stai?", "Hoi", "Hoe gaat het?", "안녕하세요", "네", "Ok, danke!",
	} {
		if !word.IsCourtesy(text) {
			t.Errorf("%q is no courtesy", text)
		}
	}
	for _, text := range []string{
		"", "...", "How is my gut?", "I'm sore", "你好，我的狗怎么样", "नमस्ते, मेरा कुत्ता कैसा है?", "Hola, ¿y mi perro?",
		"Bonjour, mon chien va bien ?", "مرحبا، كيف كلبي؟", "হ্যালো, আমার কুকুর কেমন আছে?", "Olá, como vai meu cão?",
		"Привет, как моя собака?", "ہیلو، میرا کتا کیسا ہے؟", "Hallo, wie geht's meinem Hund?", "こんにちは、犬は元気ですか",
		"Halo, apa kabar anjing saya?", "Ciao, come sta il mio cane?", "Hoi, hoe gaat het met mijn hond?",
		"안녕하세요, 우리 개는 어때요?", "早上", "Moin Moin " + strings.Repeat("Moin ", 40),
	} {
		if word.IsCourtesy(text) {
			t.Errorf("%q is a courtesy", text)
		}
	}
}
