package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestIsUrgent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"By the way, I'm ALLERGIC to peanuts.": true, "Ich habe eine Allergie gegen Nüsse.": true,
		"Je m’appelle Anne": true, "Me llamo Ana": true, "My name is Ann.": true, "please call me Al": true,
		"soy alergica a las nueces": true, "Je m\u02bcappelle Anne": true, "I'm aller\u00adgic": true, "我對花生過敏": true,
		"ﾋﾟｰﾅｯﾂｱﾚﾙｷﾞｰ": true, "Sou ale\u0301rgica": true, "HEISSE ich Anna? ICH HEISSE Anna": true,
		"Remember that I train at six": true, "I tore my ACL": true, "tengo asma": true, "Sou alérgica a camarão": true,
		"": false, "What should I do tomorrow?": false, "call men": false, "nonallergic": false, "un asmatico": false,
		"My left shoulder clicks, so no overhead presses.": false, "We lift. " + strings.Repeat("We lift. ", 40): false,
		strings.Repeat("x ", 4000) + "allergic": false,
	} {
		check.Equal(t, want, conversation.IsUrgent(text), "%.60q is urgent", text)
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
		"Korean":     {"저는 땅콩 알레르기가 있어요", "임신했어요", "매일 와파린을 먹어요", "죽고 싶어요"},
		"Ukrainian":  {"У мене алергія на горіхи", "я вагітна", "приймаю варфарин"},
		"Romanian":   {"Sunt alergică la arahide", "sunt însărcinată", "iau anticoagulante"},
		"Thai":       {"ฉันแพ้ถั่วลิสง", "ตอนนี้ฉันตั้งครรภ์", "ฉันกินยาวาร์ฟาริน", "ไม่ไหวแล้ว อยากตาย"},
		"a threat to life": {
			"I want to kill myself", "sometimes I want to die", "Ich denke an Suizid", "pienso en suicidarme", "我想自殺",
			"もう死にたい", "Думаю про самогубство", "saya ingin bunuh diri",
		},
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

// TestCoeliacDiseaseIsUrgent says in each language that somebody has coeliac disease.
func TestCoeliacDiseaseIsUrgent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Felix has coeliac disease after all", "Felix hat nun doch Zöliakie", "Félix es celíaco", "Tiene celiaquía",
		"Félix a la maladie cœliaque", "Félix est coeliaque", "O Félix é celíaco", "费利克斯得了乳糜泻", "菲力得了乳糜瀉",
		"フェリックスはセリアック病です", "फेलिक्स को सीलिएक रोग है", "فيليكس مصاب بمرض سيلياك", "لديه الداء البطني",
		"ফেলিক্সের সিলিয়াক রোগ আছে", "У Феликса целиакия", "فیلکس کو سیلیک بیماری ہے", "Felix punya penyakit seliak",
	} {
		if !conversation.IsUrgent(text) {
			t.Errorf("%q is not urgent", text)
		}
	}
}

// TestSafetyIsUrgentInManyLanguages checks four plain statements in each language: a joint that hurts in an exercise, a
// hurt back, blood thinners, and a heart attack in the past. Beside them are two of a training day that may wait.
func TestSafetyIsUrgentInManyLanguages(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][6]string{
		"English": {
			"My knee hurts when I squat", "I hurt my back", "I take blood thinners", "I had a heart attack last year",
			"I want to run a marathon in October", "We moved the barbell work to Friday",
		},
		"Mandarin": {
			"我深蹲的时候膝盖疼", "我的背受伤了", "我在吃抗凝血药", "我去年心脏病发作过", "我想在十月跑马拉松", "我们把杠铃训练改到星期五",
		},
		"Hindi": {
			"स्क्वाट करते समय मेरे घुटने में दर्द होता है", "मेरी पीठ में चोट लगी है", "मैं खून पतला करने की दवा लेता हूँ",
			"पिछले साल मुझे दिल का दौरा पड़ा था", "मैं अक्टूबर में मैराथन दौड़ना चाहता हूँ",
			"हमने बारबेल का अभ्यास शुक्रवार को रखा",
		},
		"Spanish": {
			"Me duele la rodilla cuando hago sentadillas", "Me lastimé la espalda", "Tomo anticoagulantes",
			"Tuve un infarto el año pasado", "Quiero correr un maratón en octubre", "Pasamos la barra al viernes",
		},
		"French": {
			"J'ai mal au genou quand je fais des squats", "Je me suis blessé au dos", "Je prends des anticoagulants",
			"J'ai eu une crise cardiaque l'an dernier", "Je veux courir un marathon en octobre",
			"On a déplacé la barre à vendredi",
		},
		"Arabic": {
			"ركبتي تؤلمني عندما أقوم بالقرفصاء", "لقد أصبت في ظهري", "أتناول أدوية سيولة الدم", "أصبت بنوبة قلبية العام الماضي",
			"أريد أن أركض ماراثون في أكتوبر", "نقلنا تمرين البار إلى يوم الجمعة",
		},
		"Bengali": {
			"স্কোয়াট করার সময় আমার হাঁটুতে ব্যথা হয়", "আমার পিঠে আঘাত লেগেছে", "আমি রক্ত পাতলা করার ওষুধ খাই",
			"গত বছর আমার হার্ট অ্যাটাক হয়েছিল", "আমি অক্টোবরে ম্যারাথন দৌড়াতে চাই", "আমরা বারবেল শুক্রবারে রেখেছি",
		},
		"Portuguese": {
			"Meu joelho dói quando agacho", "Machuquei as costas", "Tomo anticoagulantes", "Tive um infarto no ano passado",
			"Quero correr uma maratona em outubro", "Passamos a barra para sexta-feira",
		},
		"Russian": {
			"У меня болит колено, когда я приседаю", "Я повредил спину", "Я принимаю антикоагулянты",
			"В прошлом году у меня был инфаркт", "Я хочу пробежать марафон в октябре", "Мы перенесли штангу на пятницу",
		},
		"Urdu": {
			"اسکواٹ کرتے وقت میرے گھٹنے میں درد ہوتا ہے", "میری کمر میں چوٹ لگی ہے", "میں خون پتلا کرنے کی دوا لیتا ہوں",
			"پچھلے سال مجھے دل کا دورہ پڑا تھا", "میں اکتوبر میں میراتھن دوڑنا چاہتا ہوں", "ہم نے باربل جمعہ کو رکھا",
		},
		"German": {
			"Mein Knie schmerzt bei Kniebeugen", "Ich habe mir den Rücken verletzt", "Ich nehme Blutverdünner",
			"Ich hatte letztes Jahr einen Herzinfarkt", "Ich will im Oktober einen Marathon laufen",
			"Wir haben die Langhantel auf Freitag gelegt",
		},
		"Japanese": {
			"スクワットをすると膝が痛いです", "腰を痛めました", "血液をサラサラにする薬を飲んでいます", "去年、心臓発作を起こしました",
			"十月にマラソンを走りたいです", "バーベルは金曜日にしました",
		},
		"Indonesian": {
			"Lutut saya sakit saat squat", "Punggung saya cedera", "Saya minum obat pengencer darah",
			"Saya kena serangan jantung tahun lalu", "Saya mau lari maraton di bulan Oktober",
			"Latihan barbel pindah ke hari Jumat",
		},
	} {
		for i, text := range texts {
			check.Equal(t, (i < 4), conversation.IsUrgent(text), "%s: %q is urgent", language, text)
		}
	}
	for _, text := range []string{ // which have a word of a phrase in another meaning, or a part of one
		"That workout was a killer", "a heartfelt thanks", "Ich mag Schmerzgrenzen-Podcasts nicht", "strokes of luck",
		"The torneo is on Sunday", "Je suis malin", "Das Rezept ist gut", "machucar tomates", "потянулись и пошли",
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

// TestAsksToForget finds a wish to forget something in many languages.
func TestAsksToForget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Please forget that I have a cat.": true, "Vergiss das bitte.": true, "Olvida lo de mi rodilla": true,
		"Oublie mon allergie": true, "请忘掉我的过敏": true, "それは忘れてください": true, "Забудь про мою собаку": true,
		"Esqueça o que eu disse": true, "Dimentica il mio gatto": true, "Vergeet wat ik zei": true,
		"고양이 얘기는 잊어 줘": true, "Zapomnij o moim kocie": true, "Kedimi unut": true, "Quên chuyện con mèo đi": true,
		"She never said that she was sorry.": false, "Elle n'a rien dit.": false, "Tenho perda da memória.": false,
		"I have a cat.": false, "Was soll ich heute essen?": false, "Tôi quen cô ấy": false, "": false,
	} {
		check.Equal(t, want, conversation.AsksToForget(text), "%q", text)
		check.Equal(t, want, conversation.IsUrgent(text), "%q is read at once", text)
	}
	for _, text := range []string{
		"Cancella quello che ho detto", "Kun je dat vergeten?", "Verwijder dat maar", "그건 지워 줘", "Usuń to",
		"Видали це", "Te rog să uiți de Radu.", "Uită ce am zis", "ช่วยลืมเรื่องสมชายด้วยนะ", "請刪掉這個", "Priya ko bhool jao",
		"Please delete my weight", "把這件事刪除", "別再提他了", "今のは記憶から削除して", "なかったことにして", "Elimina eso",
		"Das bitte nicht merken", "امسح كلامي عن فهد", "यह हटा दो", "ลืมไปเลย", "อย่าจำเรื่องนี้", "Supprime ça", "Сотри это",
		"Take that out of your memory", "Pretend I never said that", "Tu so, als hätte ich das nie gesagt", "当我没说过",
		"Quita eso de tu memoria", "Fais comme si je n'avais rien dit", "Remove isso da memória", "把刚才那句话删了",
		"أريدك أن تنسى عنواني", "تجاهل ما قلته عن عملي", "इसे याद न रखें", "Non ricordare questo",
	} {
		check.Equal(t, true, conversation.AsksToForget(text), "%q", text)
	}
}

// TestAsksForOverview finds in each language what asks for an order, a count, a list and a summary, and not what asks
// for one thing.
func TestAsksForOverview(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][5]string{
		"English": {
			"In what order did I try the diets?", "How many times did I skip a run?", "List all my trips",
			"Summarize the year", "When is my exam?",
		},
		"Mandarin": {"我是按什么顺序看医生的？", "我去过几次杭州？", "列出我的旅行", "总结一下这一年", "考试是哪天？"},
		"Hindi": {
			"मैंने किस क्रम में दवाएँ लीं?", "मैं कितनी बार दौड़ा?", "मेरी यात्राओं की सूची दो", "साल का सारांश बताओ",
			"परीक्षा कब है?",
		},
		"Spanish": {
			"¿En qué orden probé las dietas?", "¿Cuántas veces corrí?", "Enumera mis viajes",
			"Hazme un resumen del año", "¿Cuándo es mi examen?",
		},
		"French": {
			"Dans quel ordre ai-je essayé les régimes ?", "Combien de fois ai-je couru ?",
			"Fais la liste de mes voyages", "Fais un résumé de l'année", "Quand est mon examen ?",
		},
		"Arabic": {
			"بأي ترتيب جربت الحميات؟", "كم مرة ركضت؟", "أعطني قائمة رحلاتي", "لخص السنة", "متى الامتحان؟",
		},
		"Bengali": {
			"আমি কোন ক্রমে ওষুধ খেয়েছি?", "আমি কতবার দৌড়েছি?", "আমার ভ্রমণের তালিকা দাও", "বছরের সারাংশ দাও",
			"পরীক্ষা কবে?",
		},
		"Portuguese": {
			"Em que ordem tentei as dietas?", "Quantas vezes corri?", "Liste as minhas viagens",
			"Faça um resumo do ano", "Quando é o exame?",
		},
		"Russian": {
			"В каком порядке я пробовал диеты?", "Сколько раз я бегал?", "Перечисли мои поездки", "Подведи итог года",
			"Когда экзамен?",
		},
		"Urdu": {
			"میں نے کس ترتیب سے دوائیں لیں؟", "میں کتنی بار دوڑا؟", "میرے سفر کی فہرست دو", "سال کا خلاصہ دو",
			"امتحان کب ہے؟",
		},
		"German": {
			"In welcher Reihenfolge habe ich das versucht?", "Wie oft war ich laufen?", "Liste meine Reisen auf",
			"Gib mir eine Zusammenfassung des Jahres", "Wann ist die Prüfung?",
		},
		"Japanese": {"どの順番で試しましたか", "何回走りましたか", "旅行の一覧をください", "一年を要約して", "試験はいつですか"},
		"Indonesian": {
			"Dalam urutan apa saya mencobanya?", "Berapa kali saya lari?", "Buat daftar perjalanan saya",
			"Rangkum tahun ini", "Kapan ujian saya?",
		},
		"Italian": {
			"In che ordine ho provato le diete?", "Quante volte ho corso?", "Elenca i miei viaggi", "Riassumi l'anno",
			"Quando è l'esame?",
		},
		"Dutch": {
			"In welke volgorde heb ik dat geprobeerd?", "Hoe vaak heb ik gelopen?", "Geef een lijst van mijn reizen",
			"Vat samen wat er was", "Wanneer is het examen?",
		},
		"Korean": {"어떤 순서로 해 봤지?", "몇 번 뛰었어?", "여행 목록을 줘", "올해를 요약해 줘", "시험이 언제야?"},
	} {
		for i, text := range texts {
			check.Equal(t, (i < 4), conversation.AsksForOverview(text), "%s: %q asks for an overview", language, text)
		}
	}
	for _, text := range []string{
		"Let's resume our conversation", "I totally agree", "Listen, I am late", "in order to win", "My total knee",
		"What quantity do I need?", "", "Was mache ich morgen?", "¿Qué hago mañana?",
	} {
		if conversation.AsksForOverview(text) {
			t.Errorf("%q asks for an overview", text)
		}
	}
}

// TestMedicineIsUrgentInManyLanguages says in each language that a medicine is taken, that a doctor has stopped one, a
// dose, and that somebody has epilepsy, cancer or a stroke. The last line says nothing of the kind.
func TestMedicineIsUrgentInManyLanguages(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][]string{
		"English": {
			"Dad takes warfarin", "The doctor stopped the tablets", "It's 5 mg now", "She has epilepsy", "I watered it",
		},
		"Mandarin": {
			"我媽媽吃華法林", "医生让她停药了", "脈優改成10毫克", "我有癲癇", "他得了癌症", "爸爸中風了", "奶奶开始打胰岛素了", "今天天气很好",
		},
		"Japanese": {
			"父はワーファリンを飲んでいます", "薬が今日から2錠になった", "てんかんがあります", "癌と診断された", "脳梗塞で入院した", "妊婦です", "明日は雨らしい",
		},
		"Spanish": {
			"Mi madre toma Sintrom", "El médico me ha quitado la pastilla", "ahora son 5 mg",
			"Mi padre tuvo un ictus", "Hoy hace sol",
		},
		"French":     {"Papa a fait un AVC", "Un comprimé le soir", "Je fais de l'hypertension", "Il fait beau"},
		"Portuguese": {"Tomo varfarina", "Minha mãe teve um AVC", "Tenho pressão alta", "Hoje faz sol"},
		"German": {
			"Meine Mutter nimmt Marcumar", "Ich soll die Tabletten absetzen", "Ich habe Krebs", "Ich habe hohen Blutdruck",
			"Heute war ein guter Tag im Büro",
		},
		"Arabic": {
			"أبي يأخذ الوارفارين", "الطبيب أوقف الدواء", "بدأت الإنسولين اليوم", "عندي صرع", "ابني مصاب بالسرطان", "مريض بالقلب",
			"ضغط الدم عندي مرتفع", "أريد أن أموت", "كيف حالك اليوم",
		},
		"Hindi": {
			"मेरे पापा वारफरिन लेते हैं", "दादी की गोली बंद कर दी गई",
			"डॉक्टर ने इंसुलिन शुरू किया", "मुझे मिर्गी है", "मुझे कैंसर है",
			"हाई ब्लड प्रेशर है", "मैं मरना चाहता हूँ", "आज मौसम अच्छा है",
		},
		"Bengali":    {"আমি ওয়ারফারিন খাই", "আমার মৃগী আছে", "আজ আবহাওয়া ভালো"},
		"Russian":    {"Врач отменил таблетки", "У меня эпилепсия", "У меня рак", "теперь 5 мг", "Сегодня солнечно"},
		"Urdu":       {"میں وارفرین لیتا ہوں", "مجھے مرگی ہے", "آج موسم اچھا ہے"},
		"Indonesian": {"Ibu kena kanker", "Tekanan darah saya tinggi", "Hari ini cerah"},
		"Thai": {
			"แม่กินยาวาร์ฟารินอยู่", "หมอให้หยุดยา", "ผมเป็นเบาหวาน", "เป็นโรคหัวใจ", "เป็นลมชัก",
			"เป็นมะเร็ง", "เจ็บหน้าอก", "วันนี้อากาศดี",
		},
		"Korean": {"엄마가 당뇨가 있어요", "약을 바꿨어요", "뇌졸중이 왔어요", "오늘 날씨가 좋다"},
	} {
		for i, text := range texts {
			if want := i < len(texts)-1; conversation.IsUrgent(text) != want {
				t.Errorf("%s: %q is urgent: want %v", language, text, want)
			}
		}
	}
}
