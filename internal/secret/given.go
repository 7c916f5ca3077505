package secret

import (
	"slices"
	"strings"
)

const (
	// owners are the words before "code" where nothing else says what code it is, as in "the area code".
	owners = `(?:my|our|your|his|her|their|the|\p{L}+['’]s|(?:mein|unser|sein|ihr)(?:e[nm]?)?|d(?:er|en|em|ie)|el|la|mi|` +
		`tu|su|nuestro|le|mon|notre|son|il|mio|nostro|suo|o|meu)\s+(?:(?:new|old|neue[rn]?|nuevo|nouveau|nuovo)\s+)?`
	codes = `(?:code|c[óo]digo|codice|combination|combo|kombination|combina(?:ción|ison|zione))`
	// devices and locks are what a code opens. "Phone code" alone may be that of a country.
	devices = `(?:i?phone|mobile|cell ?phone|smartphone|ipad|tablet|laptop|sim(?: card)?)`
	locks   = `(?:safe|vault|locker|(?:bike |door )?lock|padlock|lock ?box|key ?box|garage|house|suitcase|mailbox)`
	opened  = `(?:` + devices + `|` + locks + `|computer|door|gate|apartment|flat|alarm|handy|telefon|tresor|spind|` +
		`koffer|(?:fahrrad|zahlen|vorhänge)?schloss|(?:haus|wohnungs|garagen)?tür|alarmanlage|` +
		`schlüssel(?:box|safe|kasten)|rechner|m[óo]vil|tel[ée]fono|celular|caja fuerte|candado|taquilla|` +
		`puerta|portal|garaje|alarma|maleta|portátil|téléphone|portable|coffre(?:-fort)?|cadenas|casier|porte|` +
		`portail|alarme|valise|cellulare|cassaforte|lucchetto|armadietto|porta|portone|cancello|allarme|valigia)`
	opens = `\s+(?:for|of|to|on|für|fürs|vom|von|zum|zur|des|der|am|beim|de|del|para|du|pour|di|del|della|dello|per)` +
		`\s+(?:[\p{L}'’-]+\s+){0,3}?`
	// code is a number that opens something, or the numbers of a lock.
	code = quotes + `(\d{1,3}(?:[- ]{1,3}\d{1,3}){2,3}|\d{3,8}[A-Z]?)\b`
	// changes and changed say that a password becomes another one.
	changes = `(?:chang|set|reset|updat|switch|änder|setz|stell|cambi|pus|modifi|mis)\p{L}*\s+(?:\S+\s+){0,3}?`
	changed = `\s+(?:geändert|gesetzt|gewechselt|umgestellt|gestellt)`
	// documents are the numbers of documents and of persons.
	documents = `(?:(?:passport|(?:identity|id) card|driv(?:er['’]?s|ing) licen[cs]e|social (?:security|insurance)|` +
		`national insurance)\s+(?:number|no\.?|nr\.?)|national id(?: number)?|ssn|dni|nif|curp|cpf|bsn|` +
		`(?:reise)?pass-?nummer|(?:personal)?ausweis-?nummer|führerschein-?nummer|` +
		`(?:sozial|renten)versicherungs-?nummer|steuer(?:-id|identifikationsnummer)|` +
		`n[úu]mero (?:del? |do )(?:mi )?(?:pasaporte|passaporte|identidad|(?:la )?seguridad social)|pasaporte número|` +
		`numéro (?:de |du )(?:mon )?(?:passeport|sécurité sociale|carte d['’]identité)|codice fiscale|` +
		`numero (?:del |di )(?:mio )?passaporto|numero (?:della |di )(?:mia )?carta d['’]identità|paspoortnummer)`
	// otherPasswords are the words for a password in other scripts, otherLinks those between them and what it is. A few
	// words may stand before these. noMeasure is what follows a secret that is no year and no length.
	otherPasswords = `(?:パスワード|暗証番号|合言葉|密[码碼]|口令|비밀번호|पासवर्ड|كلم[ةه] (?:المرور|السر)|باسوو?رد|پاس ?ورڈ|` +
		`পাসও(?:\x{9df}|\x{9af}\x{9bc})ার্ড|รหัสผ่าน|พาสเวิร์ด)`
	otherLinks = `(?:は|が|を|是|[为為]|改成|改[为為]|[换換]成|：|:|=|는|은|है|ہے|হল|হলো|هي|هو|คือ)`
	between    = `[\p{L}\p{M}\p{Zs}]{0,24}?`
	noMeasure  = `(?:$|[^!-~\p{Nd}年月日位个個桁字文次])`
	// number is the number of a document. It may have letters before its first digit, among its digits and at the end.
	number = `((?:[A-Z]{0,6}|(?-i:[A-Z]{1,3})[ -])\d[A-Z\d]*(?:[-./ ]\d[A-Z\d]*)*(?: (?-i:[A-Z])\b)?)`
)

var otherPasswordHints = append(of("パスワード 暗証番号 合言葉 密码 密碼 口令 비밀번호 पासवर्ड باسو پاس পাসও รหัสผ่าน พาสเวิร์ด"),
	"كلمة ال", "كلمه ال")

// phrases are the forms of secrets that a person gives in common words.
var phrases = []rule{
	{
		form:  form(begin + owners + codes + opens + opened + links + `(?:now\s+|jetzt\s+|ahora\s+)?` + code),
		hints: of("code código codigo codice combin combo kombin"), digits: 3,
	},
	{
		form: form(begin + `(?:(?:my|our|his|her|their|\p{L}+['’]s)\s+(?:\p{L}+\s+)?` + devices + ` ` + codes +
			links + `|(?:` + locks + `[- ]|zahlen)` + codes + `(?:` + links + `|\s+))` + code),
		asBefore: true,
	},
	{
		form: form(begin + changes + passwords + `(?:\s+\S+){0,4}?\s+(?:to|auf|in|zu|a|por|en|pour)\s+` + quotes +
			mixed),
		hints: passwordHints, check: isMixed,
	},
	{
		form:     form(begin + passwords + some + `\s+(?:auf|in|zu)\s+` + quotes + mixed + changed),
		asBefore: true, check: isMixed,
	},
	{
		form: form(begin + `(?:log-?in|credentials|(?:zugangs|anmelde|login)daten|credenciales|identifiants|credenziali)` +
			some + links + `(?:[^\s/:.]+\s*|\S+\s+)/\s*` + mixed),
		hints: of("login log-in credential zugangsdaten anmeldedaten credencial identifiant credenzial"), check: isMixed,
	},
	{
		form: form(begin + `(?:(?:seed|recovery|backup|mnemonic)[- ](?:phrase|words)|mnemonic|` +
			`wiederherstellungs(?:phrase|wörter)|frase (?:semilla|seme|de recuperación|di recupero)|` +
			`phrase (?:de récupération|secrète))` + some + `(?:` + links + `|\s+)` + quotes +
			`((?:(?:\d{1,2}[.)]\s*)?\p{L}{3,8}[\s,]+){11,23}(?:\d{1,2}[.)]\s*)?\p{L}{3,8})(?:$|[^\p{L}])`),
		hints: append(of("phrase frase mnemonic wiederherstellungsw"), "seed w", "recovery w", "backup w"), check: isSeed,
	},
	{
		form: form(begin + documents + some + `(?:` + links + `|\s+)` + quotes + number),
		hints: append(of("passport pasaporte passaport passeport paspoort passnummer pass-nummer ausweis führerschein "+
			"licence license sicherungs euer-id eueridenti ssn dni nif curp cpf bsn fiscale"),
			"card n", "social secur", "social insur", "national i", "identi", "seguridad social",
			"sécurité sociale", "identità"),
		digits: 2, check: isDocument,
	},
	// Scripts other than Latin: a password with a word that says what it is or with letters and digits, a number that
	// opens something, and that of a document.
	{
		form: form(otherPasswords + `(?:\s*` + otherLinks + `?|` + between + otherLinks + `)\s*[「『"“]?([!-~]{3,})` +
			noMeasure),
		hints: otherPasswordHints, check: isASCIISecret,
	},
	{
		form:     form(otherPasswords + between + `[「『"“]?([!-~]*[0-9!@#$%^&*+=_~][!-~]*)`),
		asBefore: true, check: isMixed,
	},
	{
		form: form(`(?i)(?:暗証番号|ピン(?:コード|番号)|セキュリティコード|(?:pin ?|安全|解[锁鎖]|[门門]禁|[提取]款)[码碼]|` +
			`(?:[^\p{L}\p{M}]|^)(?:(?:पिन|পিন|پن)(?:\s+(?:नंबर|नम्बर|নম্বর|نمبر))?|пин(?:-?код)?(?:\s+\p{L}+)?)|` +
			`รหัส ?(?:เอทีเอ็ม|atm|บัตร|cvv|เข้าบ้าน|ประตู)|พิน(?:การ์ด|โค้ด|บัตร)?|pin atm(?: saya)?|보안 ?코드)` +
			`\s*` + otherLinks + `?[、，]?\s*(\p{Nd}{3,8})` + noMeasure),
		hints: append(of("暗証番号 ピンコード ピン番号 セキュリティコード 码 碼 पिन পিন پن รหัส พิน пин 보안"), "pin atm"),
	},
	{
		form: form(`(?i)(?:パスポート番号|マイナンバー|[护護][照][号號][码碼]?|身[份分][证證](?:[号號][码碼]?|字[号號])?|여권 ?번호|` +
			`주민등록번호|رقم (?:جواز السفر|جواز سفري|الجواز|الهوية|هويتي)|आधार (?:कार्ड )?(?:नंबर|संख्या)|पासपोर्ट नंबर|` +
			`เลข(?:ที่)?(?:บัตรประชาชน|หนังสือเดินทาง|พาสปอร์ต)|номер паспорта|снилс|পাসপোর্ট নম্বর|nomor (?:ktp|paspor))` +
			between + otherLinks + `?\s*([A-Z]{0,3}\p{Nd}[A-Z\p{Nd}-]+(?: \p{Nd}{2,6}){0,4})`),
		hints: append(of("パスポート番号 マイナンバー 护照 護照 身份 身分 여권 주민등록번호 आधार पासपोर्ट เลข паспорт снилс পাসপোর্ট"),
			"رقم ال", "رقم جواز", "رقم هوي", "nomor ktp", "nomor paspor"),
		check: isDocument,
	},
	{
		form: form(`(?:الرقم السري|رقمي السري|الرمز السري|رمز (?:الدخول|القفل|الباب|الهاتف|البطاقة|الأمان))` +
			`(?:\s+\p{L}+){0,3}?\s*[:：]?\s*(\p{Nd}{3,8})`),
		hints: of("السري رمز"),
	},
}

// isSeed reports whether words are those that restore a wallet: a sentence has small words that no such list has.
func isSeed(value string) bool {
	isSmall := func(w string) bool { return smallWords[w] }
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(strings.ReplaceAll(value, ",", " "))), isSmall)
}

var smallWords = wordSet(`
	the and for with your are was not but has his her its from our were did let der die das und den dem ein eine ist mit
	los las que con por una del les des une est pas dans pour sur il gli che non per`)

// isDocument reports whether the number of a document is one, and no date.
func isDocument(value string) bool {
	small, capital, digit, _ := kinds(value)
	return digit >= 5 && small+capital+digit >= 6 && !date().MatchString(value)
}

var date = form(`^(?:\d{1,2}[-./ ]\d{1,2}[-./ ](?:\d\d|\d{4})|\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{4}-\d{4})$`)
