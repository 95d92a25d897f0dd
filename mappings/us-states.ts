/** States, the federal district, territories and military mail, each with a two-letter code. */
const states = `
  AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware, FL Florida,
  GA Georgia, HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa, KS Kansas, KY Kentucky, LA Louisiana, ME Maine,
  MD Maryland, MA Massachusetts, MI Michigan, MN Minnesota, MS Mississippi, MO Missouri, MT Montana, NE Nebraska,
  NV Nevada, NH New Hampshire, NJ New Jersey, NM New Mexico, NY New York, NC North Carolina, ND North Dakota, OH Ohio,
  OK Oklahoma, OR Oregon, PA Pennsylvania, RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee,
  TX Texas, UT Utah, VT Vermont, VA Virginia, WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming,
  DC District of Columbia, DC Washington DC, PR Puerto Rico, GU Guam, VI Virgin Islands, VI US Virgin Islands,
  VI United States Virgin Islands, AS American Samoa, MP Northern Mariana Islands, AA Armed Forces Americas,
  AE Armed Forces Europe, AP Armed Forces Pacific`

/** The two-letter codes by name, in capitals and without blanks. */
export const stateCodes: ReadonlyMap<string, string> = new Map(
  states.split(',').map((entry) => {
    const [code = '', ...name] = entry.trim().split(' ')
    return [name.join('').toUpperCase(), code]
  }),
)

/** Every code in `stateCodes`. */
export const knownStates: ReadonlySet<string> = new Set(stateCodes.values())
