// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A token of no value for the local chain: ERC-20 with any number of decimals, which anybody may mint.
contract LocalToken {
    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "allowance");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        _move(from, to, value);
        return true;
    }

    function _move(address from, address to, uint256 value) internal virtual {
        require(balanceOf[from] >= value, "balance");
        unchecked {
            balanceOf[from] -= value;
        }
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// Keeps a fee of every transfer: the recipient is credited less than the sender sent.
contract LocalFeeToken is LocalToken {
    uint256 public immutable feeBasisPoints;
    address public constant COLLECTOR = address(0xfee);

    constructor(string memory name_, string memory symbol_, uint8 decimals_, uint256 feeBasisPoints_)
        LocalToken(name_, symbol_, decimals_)
    {
        feeBasisPoints = feeBasisPoints_;
    }

    function _move(address from, address to, uint256 value) internal override {
        uint256 fee = (value * feeBasisPoints) / 10_000;
        super._move(from, COLLECTOR, fee);
        super._move(from, to, value - fee);
    }
}

/// Pays several recipients out of its own balance in one transaction, as smart accounts and exchanges do.
contract LocalBatchPayer {
    function pay(LocalToken token, address[] calldata recipients, uint256[] calldata values) external {
        require(recipients.length == values.length, "lengths");
        for (uint256 i = 0; i < recipients.length; i++) {
            token.transfer(recipients[i], values[i]);
        }
    }

    /// `count` transfers to addresses nobody holds, derived from `seed`: a busy chain for measurements.
    function payStrangers(LocalToken token, uint256 seed, uint256 count, uint256 value) external {
        for (uint256 i = 0; i < count; i++) {
            token.transfer(address(uint160(uint256(keccak256(abi.encode(seed, i))))), value);
        }
    }
}
