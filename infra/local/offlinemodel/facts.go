package offlinemodel

import "regexp"

// factRule makes a statement a fact of a type. The statement has to match, and must not match the exceptions.
type factRule struct {
	kind       string
	confidence float64
	match      *regexp.Regexp
	except     *regexp.Regexp
	safety     bool   // what hurts the user when it is forgotten
	content    string // the fact, with the groups of the match; empty for the statement in the third person
}

const (
	// relatives are the people that users speak of.
	relatives = `(?:girlfriend|boyfriend|wife|husband|partner|friend|brother|sister|mother|mom|mum|father|dad|son|` +
		`daughter|boss|colleague|neighbou?r|fianc[eé]e?|uncle|aunt|cousin|grandmother|grandfather|grandma|grandpa|` +
		`physio|doctor|trainer|teammate|roommate|flatmate|niece|nephew|kid|coach|therapist|dog|cat)`
	// bodyParts are what users hurt.
	bodyParts = `(?:knee|back|shoulder|hip|ankle|wrist|elbow|neck|foot|hamstring|calf|achilles|heart|groin|rib|finger|` +
		`toe|hand|leg|arm|meniscus|acl|rotator cuff)s?`
	// illnesses are what users have for longer than a week.
	illnesses = `(?:asthma|(?:type [12] )?diabetes|arthritis|epilepsy|hypertension|high blood pressure|` +
		`low blood pressure|` +
		`a heart (?:condition|murmur)|migraines?|endometriosis|osteoporosis|anemia|celiac disease|coeliac disease|` +
		`scoliosis|(?:a )?hernia|(?:a )?herniated disc|(?:a )?slipped disc|sciatica|tendinitis|plantar fasciitis|` +
		`(?:an? )?(?:\w+ )?(?:allergy|intolerance|injury|fracture))`
)

// englishFacts lists the rules for English, the surest first. The first that matches decides.
var englishFacts = []factRule{
	{kind: "PEOPLE", confidence: 0.9, match: regexp.MustCompile(
		`(?i)^(?:[A-Z]\w+ and i|(?:me|i) and [A-Z]\w+|we|i) (?:have |'ve |just |have just )?(?:broke|broken|split) up\b`,
	)},
	{
		kind: "PEOPLE", confidence: 0.9, match: regexp.MustCompile(
			`^(?i:my) (?:(?i:new|ex|best|older|younger|little|big|training|twin|three|two|four)[ -])*(?i:` + relatives +
				`)s?\b(?:'s| is| was| has| had| are| have| called| lives?| works?| goes| left| died| moved| got| just|` +
				`,? [A-Z]\w|` +
				` \w+s\b)`,
		),
		except: passing,
	},
	{kind: "PEOPLE", confidence: 0.85, except: passing, match: regexp.MustCompile(
		`^[A-Z]\w+,? (?:is|was) my (?:(?:new|ex|best|older|younger|little|big|training|twin)[ -])*` + relatives + `\b`,
	)},
	{kind: "PROFILE", confidence: 0.85, except: passing, match: regexp.MustCompile(
		`(?i)\bi have (?:an? |one |two |three |four |\d )(?:\w+ )?(?:dog|cat|horse)s?\b`,
	)},
	{kind: "PEOPLE", confidence: 0.85, except: passing, match: regexp.MustCompile(
		`(?i)\bi have (?:an? |one |two |three |four |\d )(?:\w+ )?(?:` + relatives + `|child|children|kid)s?\b`,
	)},
	{
		kind: "PROFILE", confidence: 0.95, safety: true, match: regexp.MustCompile(
			`(?i)\bi(?:'m| am)(?: \w+)? (?:allergic to|intolerant)|\bi(?:'m| am) (?:\w+ )?(?:intolerant|diabetic|pregnant|` +
				`asthmatic|` +
				`epileptic|coeliac|celiac|injured)\b|\bi (?:can't|cannot) (?:eat|have|tolerate) .*\b(?:allerg|intoleran|` +
				`coeliac|celiac)`,
		),
		except: regexp.MustCompile(`(?i)allergic to (?:\w+ )?(?:mondays?|mornings?|burpees|cardio|work|exercise|running|` +
			`gyms?|` +
			`diets?|effort|leg days?|squats|math|homework|early)\b`),
	},
	{kind: "PROFILE", confidence: 0.95, safety: true, except: passing, match: regexp.MustCompile(
		`(?i)\b(?:i(?:'ve| have)?(?: just| recently)? (?:tore|torn|broke|broken|sprained|strained|hurt|injured|pulled|` +
			`dislocated|fractured|ruptured|twisted) my|my (?:left |right |lower |upper )*` + bodyParts +
			` (?:hurts?|aches?|keeps hurting|still hurts?|is (?:injured|bad|broken|torn|stiff|sprained)|has been hurting))\b`,
	)},
	{kind: "PROFILE", confidence: 0.9, safety: true, match: regexp.MustCompile(
		`(?i)\bi (?:still |also )?(?:have|suffer from|live with|was (?:just )?diagnosed with|got diagnosed with) (?:a |` +
			`an )?(?:` +
			illnesses + `|(?:bad|torn|old|weak|chronic|injured) (?:\w+ )?` + bodyParts + `)\b|\bi(?:'ve|` +
			` have) been diagnosed with\b`,
	)},
	{
		kind: "PROFILE", confidence: 0.9, safety: true, match: regexp.MustCompile(
			`(?i)\bi (?:(?:now|also|still) )?(?:take|need|started taking|have to take|use) (?:\d+ ?mg )?(?:(?:of|my|a|an|` +
				`some|daily) )?` +
				`(?:\w+ ){0,2}(?:pills?|tablets?|medications?|meds|inhaler|insulin|beta[- ]blockers?|blood thinners?|` +
				`antidepressants?|statins?|metformin|ibuprofen|levothyroxine|antihistamines?|warfarin|\d+ ?mg)\b|` +
				`\bi(?:'m| am) (?:now )?on (?:\w+ ){0,2}(?:medications?|meds|beta[- ]blockers?|blood thinners?|insulin|` +
				`antidepressants?|statins?|metformin|antibiotics)\b`,
		),
		except: passing,
	},
	{kind: "PROFILE", confidence: 0.95, match: regexp.MustCompile(
		`(?i)^(?:my name(?:'s| is) (?:actually |really )?[A-Z]|call me [A-Z]|my birthday|i was born|i(?:'m|` +
			` am) (?:now )?(?:\d+(?: years old)?$|` +
			`(?:a )?(?:vegan|vegetarian|pescatarian)|retired|married|single|divorced|engaged|left-handed|\d+ ?(?:cm|kg)|` +
			`1[.,]\d+ ?m)\b)`,
	)},
	{
		kind: "PROFILE", confidence: 0.9, match: regexp.MustCompile(
			`(?i)^i (?:(?:now|currently|still|actually) )?(?:live|work) (?:in|at|as|for|near|with|from|on|nights|shifts|` +
				`days|part-time|full-time|remotely)\b|^i(?:'ve|` +
				` have)? ` +
				`(?:just |finally |recently )*moved (?:to|from|in with)\b|^i(?:'ve| have)? (?:just )?(?:started (?:working|` +
				`a new job|` +
				`my new job)|` +
				`changed jobs|quit my job|got a (?:new )?job|switched jobs)\b|^i(?:'m| am) (?:from|an?) \w+`,
		),
		except: regexp.MustCompile(`(?i)\bi(?:'m| am) an? (?:bit|little|lot|huge|big|total|complete|mess|fan|tad|few|` +
			`good|bad|lucky|terrible|great|machine|beast|monster|unicorn|genius|couch|hundred|million|walking|human|real)\b`),
	},
	{kind: "PROFILE", confidence: 0.9, match: regexp.MustCompile(
		`(?i)^i (?:only have|have only|just have|don't have|have no|have (?:a|an|some|two|my own))\b.*\b(?:bands?|` +
			`barbells?|dumbbells?|` +
			`kettlebells?|racks?|bench|gym|equipment|machines?|rower|treadmill|bike|pull-up bar)\b`,
	), except: passing},
	{kind: "PROJECT", confidence: 0.85, match: regexp.MustCompile(
		`(?i)^(?:i(?:'m| am) (?:now )?(?:working on|training for|preparing for|building|writing|learning|studying for|` +
			`saving for)|` +
			`i(?:'ve| have)?(?: just)? (?:signed up|registered) for|(?:my (?:\w+ ){0,2}(?:program|` +
			`programme|project|goal)|(?:my|the) (?:\w+ ){0,2}(?:race|marathon|` +
			`competition|wedding|exam|event|10k|triathlon)) (?:(?:date )?(?:is|was|has been|will be|got) (?:now |` +
			`been )?(?:moved|postponed|` +
			`on|in|at|to|now)|starts|moved|is|now is))\b`,
	), except: regexp.MustCompile(`(?i)\b(?:is|was) (?:great|fun|hard|tough|over|nice|good|awesome|boring|too|so|` +
		`really|very)\b`)},
	{kind: "PROFILE", confidence: 0.75, match: regexp.MustCompile(
		`(?i)^i (?:really |usually |always )?(?:prefer|hate|can't (?:eat|stand)|cannot (?:eat|stand)|don't (?:eat|drink)|` +
			`never eat|` +
			`(?:train|run|swim|lift|work out|cycle|meditate|fast)\b.*\b(?:times? (?:a|per) week|every (?:day|morning|` +
			`evening|week)|` +
			`(?:mon|tues|wednes|thurs|fri|satur|sun)days))\b`,
	)},
}

// passing matches what is over tomorrow.
var passing = regexp.MustCompile(`(?i)\b(?:today|tonight|tomorrow|yesterday|right now|this (?:week|weekend|morning|` +
	`evening|afternoon)|last night|is (?:visiting|coming|asking|calling|waiting|great|nice|funny|right|wrong|fine|` +
	`busy|` +
	`late|here|sick)|asks?|says?|thinks?)\b`)

// endings match statements that something is over: an allergy, an injury, a habit. They are facts only where a memory
// says what is over.
var endings = regexp.MustCompile(`(?i)\b(?:no longer|not .*\bany ?more|any ?more|(?:has|have) (?:fully |` +
	`completely )?healed|` +
	`recovered|is (?:fine|healed|better|pain-free|ok|okay) (?:again|now)|healed|i(?:'m|` +
	` am) not (?:actually )?(?:allergic|` +
	`vegan|vegetarian|diabetic|pregnant|intolerant|married|single)|used to|gave birth|had the baby|stopped (?:taking|` +
	`being|` +
	`eating)|quit|gave up|cancelled|canceled|nicht mehr|kein\w* .*\bmehr|ya no|dejé de)\b`)

// safetyWords match what must never be forgotten, such as injuries and allergies.
var safety = regexp.MustCompile(`(?i)allerg|intoleran|diabet|asthma|pregnan|injur|\btore\b|\btorn\b|\bbroke my|` +
	`sprain|hernia|` +
	bodyParts + ` (?:hurt|ache)|blood pressure|epilep|medicat`)
