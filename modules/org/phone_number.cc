/* phone_number.cc - see phone_number.h. In C++, since libphonenumber has no interface of C. Nothing
 * that it throws leaves the file. */
#include "phone_number.h"

#include <cstring>
#include <string>

#include <phonenumbers/phonenumber.pb.h>
#include <phonenumbers/phonenumberutil.h>

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;

bool phone_number_read(
    const char *text, std::size_t n, const char *country, struct phone_number *ret)
try {
    const PhoneNumberUtil *util = PhoneNumberUtil::GetInstance();
    PhoneNumber number;
    std::string e164;

    if (util->Parse(std::string(text, n), country, &number) != PhoneNumberUtil::NO_PARSING_ERROR)
        return false;
    util->Format(number, PhoneNumberUtil::E164, &e164);
    ret->possible = util->IsPossibleNumberWithReason(number) == PhoneNumberUtil::IS_POSSIBLE;
    ret->valid = util->IsValidNumber(number);
    if (e164.size() >= sizeof(ret->e164))
        return false;
    std::memcpy(ret->e164, e164.c_str(), e164.size() + 1);
    return true;
} catch (...) {
    return false;
}
