package conversation_test

import (
	"testing"

	"github.com/throughline/throughline/internal/conversation"
)

// TestWhatAsksForOverview has for each language what asks for an order, a count, a list or a summary of what is the
// user's, and what does not: a statement, or a question about the world or about one thing.
func TestWhatAsksForOverview(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string]struct{ asks, not []string }{
		"English": {
			[]string{
				"List my injuries", "Put my diets in order", "Which did I do first, yoga or pilates?", "Sum up my year",
				"Count the times I skipped leg day", "What are all the gyms I have tried?", "Name all the diets",
				"Tell me the sequence of events", "number of times I skipped leg day", "everything about my knee",
				"In which sequence did I buy them?", "Give me a rundown of my complaints.", "What have we talked about so far?",
				"Tell me about every injury I had", "When did each of my trips begin?",
				"Thanks! Please list my trips.", "how many diets have I tried", "Hi, summarize my week",
			},
			[]string{
				"I'm going for a run in total darkness", "Every time I squat my knee hurts", "I eat all of my veggies",
				"How many grams of protein are in an egg?", "I wrote a summary of my thesis.", "The list is done",
				"What should I do in order to win?", "Give me a list of vegetables", "Put the bar down",
				"Every time I squat my knee hurts. What now?", "I made a list of my goals", "How are you?",
				"Was out in total darkness", "How many people live in the US?", "Everything I eat is healthy",
			},
		},
		"Mandarin": {
			[]string{
				"给我一个清单", "把我的伤按时间排列", "我跑了多少次", "帮我总结这一年", "我一共跑了几次？", "请列出我的饮食", "給我一個清單", "我們聊過哪些旅行？", "把至今為止的過敏情況列成清單",
			},
			[]string{"这个多少钱？", "每次深蹲膝盖都疼", "我总共吃了三个鸡蛋", "我写完总结了", "清单写好了", "鸡蛋有多少克蛋白质？"},
		},
		"Hindi": {
			[]string{
				"मेरी चोटों की लिस्ट बनाओ", "मैंने कितने आहार आज़माए?", "सारांश बताओ",
				"हर बार क्या हुआ?", "सब दवाएँ गिनाओ", "सारांश क्रम से दो",
			},
			[]string{"अंडे में कितने ग्राम प्रोटीन है?", "सूची तैयार है", "हर बार घुटना दुखता है", "मैंने कुल दो अंडे खाए"},
		},
		"Spanish": {
			[]string{
				"¿Cuál fue el orden de mis dietas?", "Resume mi año", "Lista todas mis dietas", "¿Cuántas dietas he probado?",
				"Cuántas veces corrí", "¿Qué hice primero, yoga o pilates?", "Dame una lista de mis lesiones",
				"Ponme en orden las ciudades", "¿De qué hemos hablado hasta ahora?",
			},
			[]string{
				"Corro en total oscuridad", "Cada vez que corro me duele", "La lista de la compra está hecha",
				"¿Cuántos gramos de proteína tiene un huevo?", "Todo lo que como es sano",
			},
		},
		"French": {
			[]string{
				"Résume mon année", "Énumère mes blessures", "Combien de régimes ai-je essayés ?",
				"Donne-moi la liste de mes blessures", "Fais-moi un résumé", "Liste mes voyages",
			},
			[]string{
				"La liste est prête", "Chaque fois que je cours, j'ai mal", "Combien de grammes de protéines a un œuf ?",
				"J'ai écrit un résumé.", "Au total, tout va bien",
			},
		},
		"Arabic": {
			[]string{"أعطني قائمة بإصاباتي", "كم حمية جربت؟", "رتب لي الحميات", "عدد المرات التي ركضت فيها؟", "لخص سنتي"},
			[]string{"القائمة جاهزة", "كم غراما من البروتين في البيضة؟", "كل مرة أركض تؤلمني ركبتي", "قائمة التسوق جاهزة"},
		},
		"Bengali": {
			[]string{"আমার আঘাতের তালিকা দাও", "আমি কয়টি ডায়েট করেছি?", "সংক্ষেপে বলো", "মোট কতবার দৌড়েছি?"},
			[]string{"ডিমে কয়টি ক্যালরি আছে?", "প্রতিবার হাঁটু ব্যথা করে", "বাজারের তালিকা তৈরি", "আমি পরিক্রমা করেছি"},
		},
		"Portuguese": {
			[]string{
				"Resuma meu ano", "Faz uma lista das minhas lesões", "Quantas dietas eu tentei?", "Qual foi a ordem das dietas?",
				"Enumere as minhas viagens", "Coloque as minhas dietas em ordem",
			},
			[]string{
				"A lista de compras está pronta", "Cada vez que corro dói", "Quantos gramas de proteína tem um ovo?",
				"Escrevi um resumo", "Corri dez no total",
			},
		},
		"Russian": {
			[]string{
				"Обобщи мой год", "краткое резюме", "Назови все мои травмы", "Сколько диет я пробовал?",
				"Дай список моих травм", "Что я делал сначала, йогу или пилатес?",
			},
			[]string{
				"Я съел всего два яйца", "Список готов", "Каждый раз болит колено", "Сколько граммов белка в яйце?",
				"Я написал обзор книги",
			},
		},
		"Urdu": {
			[]string{"میری چوٹوں کی لسٹ بناؤ", "میں نے کتنے پلان آزمائے؟", "خلاصہ بتاؤ", "ترتیب سے بتاؤ"},
			[]string{"انڈے میں کتنے گرام پروٹین ہے؟", "فہرست تیار ہے", "ہر بار گھٹنا دکھتا ہے"},
		},
		"German": {
			[]string{
				"Zähl alle meine Verletzungen auf", "Nenne mir alle Diäten", "Fass mein Jahr zusammen",
				"Wie viele Diäten habe ich probiert?", "Gib mir eine Liste meiner Reisen", "Bitte liste alle Reisen auf",
				"Kannst du meine Reisen auflisten?", "Erstelle eine Chronik meiner Reisen",
				"Was haben wir bisher alles besprochen?", "Was hab ich bisher alles versprochen?",
				"Was habe ich zuerst gemacht, Yoga oder Pilates?",
			},
			[]string{
				"Die Liste ist fertig", "Jedes Mal tut mein Knie weh", "Wie viele Gramm Protein hat ein Ei?",
				"Fass mich nicht an", "Ich habe insgesamt drei Eier gegessen", "Nenne mir eine Übung",
			},
		},
		"Japanese": {
			[]string{
				"リストを作って", "怪我をリストアップして", "時系列で教えて", "今年をまとめて", "買ったものを一覧にして", "私はいくつダイエットを試した？", "何回走ったっけ",
				"今までの経緯を教えて", "薬の履歴を箇条書きで出して",
			},
			[]string{"リストバンドを買った", "毎回膝が痛い", "卵はいくつ必要？", "荷物をまとめて出かけた", "全部で三つ食べた"},
		},
		"Indonesian": {
			[]string{
				"Ringkas tahun saya", "Sebutkan semua cedera saya", "Berapa diet yang sudah saya coba?",
				"Tolong buatkan daftar", "Urutkan diet saya",
			},
			[]string{
				"Daftar belanja sudah siap", "Setiap kali lari lutut saya sakit", "Berapa gram protein dalam telur?",
				"Semua yang saya makan sehat",
			},
		},
		"Italian": {
			[]string{
				"Fammi una lista", "Quante diete ho provato?", "Riassumi il mio anno", "Metti le mie diete in ordine",
				"Qual era l'ordine delle diete?",
			},
			[]string{
				"La lista è pronta", "Ogni volta che corro fa male", "Quanti grammi di proteine ha un uovo?",
				"Ho scritto un riassunto",
			},
		},
		"Dutch": {
			[]string{
				"Vat mijn jaar samen", "Noem al mijn blessures", "Som mijn blessures op", "Hoeveel diëten heb ik geprobeerd?",
				"Zet mijn diëten op volgorde", "Geef me een overzicht",
			},
			[]string{
				"De lijst is klaar", "Elke keer doet mijn knie pijn", "Hoeveel gram eiwit zit er in een ei?",
				"Ik heb een samenvatting geschreven", "Alles wat ik eet is gezond",
			},
		},
		"Thai": {
			[]string{
				"สรุปเรื่องยาของยายตามลำดับเวลาให้หน่อย", "ฉันบ่นเรื่องปวดหัวกี่ครั้งแล้ว",
				"ขอรายการยาทั้งหมดของยาย", "ยาเปลี่ยนตามลำดับยังไงบ้าง",
			},
			[]string{"รายการทีวีนี้ชื่ออะไร", "สรุปว่าไปไหม", "ไข่หนึ่งฟองมีโปรตีนกี่กรัม", "ปวดเข่าทุกครั้งที่วิ่ง"},
		},
		"Korean": {
			[]string{"나는 몇번 뛰었지?", "부상 목록을 만들어 줘", "올해를 정리해 줘", "내가 몇 개 해 봤지?", "시간순으로 보여 줘"},
			[]string{"매번 무릎이 아파요", "방을 정리해야 해", "계란이 몇 개 필요해?", "목록이 다 됐어요"},
		},
	} {
		for _, text := range texts.asks {
			if !conversation.AsksForOverview(text) {
				t.Errorf("%s: %q does not ask for an overview", language, text)
			}
		}
		for _, text := range texts.not {
			if conversation.AsksForOverview(text) {
				t.Errorf("%s: %q asks for an overview", language, text)
			}
		}
	}
}
