//nolint:misspell // German and Spanish words
package offlinemodel

import "regexp"

// germanFacts and spanishFacts list the basics for German and Spanish. The contents are in the language of the message.
var germanFacts = []factRule{
	{
		kind: "PROFILE", confidence: 0.95, safety: true, content: "Der Nutzer ist allergisch gegen $1.",
		match: regexp.MustCompile(`(?i)\bich bin (?:\p{L}+ ){0,2}allergisch (?:gegen|auf) ([^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.95, safety: true, content: "Der Nutzer hat $1.",
		match: regexp.MustCompile(`(?i)\bich habe (?:auch |leider |seit \p{L}+ )?(eine? (?:\p{L}+ )?\p{L}*(?:allergie|` +
			`intoleranz|unverträglichkeit)|asthma|` +
			`diabetes|bluthochdruck|epilepsie|einen bandscheibenvorfall)\b`),
	},
	{
		kind: "PROFILE", confidence: 0.95, safety: true, content: "Der Nutzer ist $1.",
		match: regexp.MustCompile(`(?i)\bich bin (?:jetzt |im \p{L}+ monat )?(schwanger|diabetiker(?:in)?|` +
			`laktoseintolerant)\b`),
	},
	{
		kind: "PROFILE", confidence: 0.9, safety: true, content: "Der Nutzer hat sich $1 $2.",
		match: regexp.MustCompile(`(?i)\bich habe mir (?:\p{L}+ )??((?:den|die|das|meinen|meine|` +
			`mein) [^,.;!]+?) (gebrochen|verletzt|gezerrt|gerissen|verstaucht|` +
			`verdreht)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, safety: true, content: "Schmerzen des Nutzers: $1 $2.",
		match: regexp.MustCompile(`(?i)\bmein(?:e|er)? ((?:\p{L}+ )?(?:knie|rücken|schulter|hüfte|knöchel|handgelenk|` +
			`ellbogen|nacken|fuß|wade|achillessehne)) ` +
			`((?:tut|tun|schmerzt|schmerzen)\b[^,.;!]*)`),
	},
	{
		kind: "PROFILE", confidence: 0.95, content: "Der Nutzer heißt $1.",
		match: regexp.MustCompile(`\b(?:[Ii]ch heiße|[Mm]ein Name ist) (\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "Der Nutzer wohnt in $1.",
		match: regexp.MustCompile(`\b[Ii]ch (?:wohne|lebe) (?:jetzt |seit [\p{L}\d ]+? |nun )?in ([^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "Der Nutzer wohnt in $1.",
		match: regexp.MustCompile(`\b[Ii]ch bin (?:[\p{L}\d ]+? )?nach (\p{Lu}[^,.;!]*?) (?:um)?gezogen`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "Der Nutzer arbeitet $1.",
		match: regexp.MustCompile(`\b[Ii]ch arbeite (?:jetzt |seit [\p{L}\d ]+? )?((?:als|bei|in|für) [^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "Der Nutzer ist $1.",
		match: regexp.MustCompile(`(?i)\bich bin (?:jetzt )?(vegan|vegetarier(?:in)?|veganer(?:in)?|verheiratet|` +
			`geschieden|\d+ jahre alt)\b`),
	},
	{
		kind: "PROJECT", confidence: 0.85, content: "Der Nutzer trainiert für $1.",
		match: regexp.MustCompile(`(?i)\bich trainiere (?:gerade |jetzt )?für ([^,.;!]+)`),
	},
	{
		kind: "PEOPLE", confidence: 0.9, content: "$1 des Nutzers: $2.",
		match: regexp.MustCompile(`\b[Mm]eine? (Frau|Mann|Freundin|Freund|Schwester|Bruder|Mutter|Vater|Tochter|Sohn|` +
			`Chefin|Chef) ` +
			`((?:\p{Lu}|ist |heißt |hat |wohnt |arbeitet )[^,.;!]+)`),
	},
}

var spanishFacts = []factRule{
	{
		kind: "PROFILE", confidence: 0.95, safety: true, content: "El usuario es $1.",
		match: regexp.MustCompile(`(?i)\b(?:yo )?soy (?:\p{L}+ )??((?:alérgic[oa]|intolerante) (?:a|al) [^,.;!]+|` +
			`diabétic[oa]|asmátic[oa]|celíac[oa])`),
	},
	{
		kind: "PROFILE", confidence: 0.95, safety: true, content: "El usuario tiene $1.",
		match: regexp.MustCompile(`(?i)\btengo ((?:una? )?(?:\p{L}+ )?(?:alergia|asma|diabetes|hipertensión|lesión|` +
			`hernia)[^,.;!]*)`),
	},
	{
		kind: "PROFILE", confidence: 0.95, safety: true, content: "El usuario está $1.",
		match: regexp.MustCompile(`(?i)\bestoy (embarazada|lesionad[oa])`),
	},
	{
		kind: "PROFILE", confidence: 0.9, safety: true, content: "Al usuario le duele $1.",
		match: regexp.MustCompile(`(?i)\bme duelen? ((?:el|la|los|las) [^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, safety: true, content: "El usuario se $1.",
		match: regexp.MustCompile(`(?i)\bme (?:he )?((?:rompí|roto|lesioné|lesionado|torcí|torcido) (?:el|la|los|` +
			`las) [^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.95, content: "El usuario se llama $1.",
		match: regexp.MustCompile(`\b(?:[Mm]e llamo|[Mm]i nombre es) (\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "El usuario vive en $1.",
		match: regexp.MustCompile(`\b(?:[Aa]hora |[Yy]o )?[Vv]ivo (?:ahora )?en ([^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "El usuario vive en $1.",
		match: regexp.MustCompile(`\b[Mm]e (?:he mudado|mudé) a ([^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "El usuario trabaja $1.",
		match: regexp.MustCompile(`\b(?:[Aa]hora )?[Tt]rabajo ((?:en|como|de|para) [^,.;!]+)`),
	},
	{
		kind: "PROFILE", confidence: 0.9, content: "El usuario es $1.",
		match: regexp.MustCompile(`(?i)\bsoy (vegan[oa]|vegetarian[oa]|zurd[oa]|enfermer[oa]|profesora?|médic[oa])\b`),
	},
	{
		kind: "PROJECT", confidence: 0.85, content: "El usuario se prepara para $1.",
		match: regexp.MustCompile(`(?i)\b(?:me estoy preparando|estoy entrenando|entreno) para ([^,.;!]+)`),
	},
	{
		kind: "PEOPLE", confidence: 0.9, content: "$1 del usuario: $2.",
		match: regexp.MustCompile(`\b[Mm]i (esposa|mujer|marido|esposo|novia|novio|hermana|hermano|madre|padre|hija|hijo|` +
			`jefa|jefe) ` +
			`((?:\p{Lu}|es |se llama |vive |trabaja |tiene )[^,.;!]+)`),
	},
}
